//! Requests and responses of 64 bytes by iceoryx2, where both ends poll. It has no connections that are made
//! one after another; a client comes nearest to a connection.

use crate::harness::{Placement, meet};
use crate::{Error, ErrorKind};
use iceoryx2::node::NodeBuilder;
use iceoryx2::service::{ipc, port_factory::request_response::PortFactory};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

type Words = [u64; 8];

type Factory = PortFactory<ipc::Service, Words, (), Words, ()>;

/// Longest wait for a response.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Sends requests over `connections` clients, one after another. Returns the times from request to response,
/// in microseconds.
pub(super) fn ask(connections: usize, requests: usize) -> Result<Vec<f64>, Error> {
    let name = format!("bertha-bench-{:016x}", rand::random::<u64>());
    let ((tell, told), done) = (oneshot::channel(), &AtomicBool::new(false));
    meet(
        Placement::AcrossCores,
        || async {
            let _done = Finally(done);
            let service = service(&name)?;
            let server = service.server_builder().create().map_err(failed)?;
            let _ = tell.send(());
            while !done.load(Ordering::Relaxed) {
                match server.receive().map_err(failed)? {
                    Some(request) => request.send_copy(*request).map_err(failed)?,
                    None => spin_loop(),
                }
            }
            Ok(())
        },
        || async {
            let _done = Finally(done);
            told.await.map_err(Error::while_doing(ErrorKind::Socket, "waiting for the server"))?;
            let service = service(&name)?;
            let mut times = Vec::new();
            for _ in 0..connections {
                let client = service.client_builder().create().map_err(failed)?;
                for request in 0..requests {
                    let start = Instant::now();
                    let pending = client.send_copy([request as u64; 8]).map_err(failed)?;
                    let response = loop {
                        if let Some(response) = pending.receive().map_err(failed)? {
                            break *response;
                        }
                        if start.elapsed() > TIMEOUT {
                            return Err(Error::new(ErrorKind::Stalled, "iceoryx2 has no response"));
                        }
                        spin_loop();
                    };
                    times.push(start.elapsed().as_secs_f64() * 1e6);
                    assert_eq!(response[0], request as u64, "the response is that of the request");
                }
            }
            Ok(times)
        },
    )
}

/// A guard that ends the server, however the client ends.
struct Finally<'a>(&'a AtomicBool);

impl Drop for Finally<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn service(name: &str) -> Result<Factory, Error> {
    let node = NodeBuilder::new().create::<ipc::Service>().map_err(failed)?;
    let name = name.try_into().map_err(failed)?;
    node.service_builder(&name).request_response::<Words, Words>().open_or_create().map_err(failed)
}

fn failed(error: impl std::fmt::Debug) -> Error {
    Error::new(ErrorKind::Socket, format!("asking by iceoryx2: {error:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_requests_are_answered() {
        if crate::harness::usable().unwrap().len() < 2 {
            return;
        }
        assert_eq!(ask(3, 10).unwrap().len(), 30);
    }
}
