//! The key-value store and its client over the connections of a datapath, both without Chunnels and negotiation: what these do for
//! other stores is inlined.

use super::BURST;
use super::closed_loop::{ClosedLoop, Due};
use super::codec::{Format, Postcard};
use super::workload::{Phase, Script};
use super::{Sample, Setup};
use crate::harness::Recorder;
use crate::{Error, ErrorKind};
use bertha_core::{Base, Buf, Connection};
use bertha_kvstore::{Message, Store};
use std::time::Instant;

/// Largest number of bytes in a datagram of Ethernet.
const MOST: usize = 1472;

/// Answers requests from an empty store until the connection ends. A datagram that is not a message gets no answer.
pub(crate) async fn serve(connection: impl Connection<Data = Buf>) {
    let mut store = Store::default();
    let mut requests = Vec::with_capacity(BURST);
    while connection.recv_batch(&mut requests, BURST).await.is_ok() {
        let replies = requests.drain(..).filter_map(|request: Buf| {
            let mut message = Postcard::decode(&request).ok()?;
            store.answer(&mut message);
            encode(connection.base(), &message).ok()
        });
        if connection.send_batch(replies).await.is_err() {
            return;
        }
    }
}

/// Loads the store at the other end, and measures.
///
/// # Errors
/// [`ErrorKind::Bertha`] if the connection fails, [`ErrorKind::Codec`] if the store refuses a request. A request that is lost is
/// waited for without end.
pub(crate) async fn measure(
    connection: &impl Connection<Data = Buf>,
    setup: &Setup,
) -> Result<Sample, Error> {
    let mut window = ClosedLoop::new(setup.in_flight, setup.timeout);
    let mut script = setup.workload.script()?;
    let records = script.records();
    run(connection, &mut window, &mut script, (Phase::Load, records), &mut Recorder::new()?).await?;
    let mut latency = Recorder::new()?;
    let started = Instant::now();
    run(connection, &mut window, &mut script, (Phase::Mix, setup.requests), &mut latency).await?;
    Ok(Sample::new(&latency, started.elapsed(), window.resent()))
}

async fn run(
    connection: &impl Connection<Data = Buf>,
    window: &mut ClosedLoop,
    script: &mut Script,
    (phase, requests): (Phase, u64),
    latency: &mut Recorder,
) -> Result<(), Error> {
    window.begin(requests);
    let now = Instant::now();
    let mut due: Vec<Due> = std::iter::from_fn(|| window.fill(now)).collect();
    let mut replies = Vec::with_capacity(BURST);
    loop {
        let mut made = Ok(());
        let leaving = due.drain(..).map_while(|due| {
            let request = script.request(phase, due.position);
            request.id = due.id;
            encode(connection.base(), request).map_err(|error| made = Err(error)).ok()
        });
        connection.send_batch(leaving).await.map_err(failed)?;
        made?;
        if window.is_over() {
            return Ok(());
        }
        connection.recv_batch(&mut replies, BURST).await.map_err(failed)?;
        let now = Instant::now();
        for reply in replies.drain(..) {
            let Ok(reply) = Postcard::decode(&reply) else { continue };
            due.extend(window.reply(&reply, now, latency)?);
        }
    }
}

#[inline]
fn encode(base: &impl Base, message: &Message) -> Result<Buf, Error> {
    let mut buffer = base.buffer(MOST).map_err(failed)?;
    let len = Postcard::encode(message, &mut buffer)?;
    buffer.truncate(len);
    Ok(buffer)
}

fn failed(error: bertha_core::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, "running a store without Chunnels")(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::runtime;
    use crate::kv::Workload;
    use bertha_datapath_kernel::TokioRuntime;

    #[test]
    fn every_request_is_answered() {
        let workload = Workload { records: 50, value_bytes: 10, reads: 0.5 };
        for in_flight in [1, 300] {
            let setup = Setup { in_flight, requests: 501, workload, ..Setup::default() };
            let sample = runtime().unwrap().block_on(async {
                let (here, there) = bertha_datapath_sim::pair(TokioRuntime);
                tokio::select! {
                    () = serve(there) => panic!("the store has ended"),
                    sample = measure(&here, &setup) => sample.unwrap(),
                }
            });
            assert!(sample.requests_per_second > 0.0 && sample.latency.p50_us > 0.0, "{sample:?}");
        }
    }
}
