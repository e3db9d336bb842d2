//! A UDP echo over a negotiated Bertha connection, to be held against the echoes in [`baseline`](crate::baseline).

use crate::baseline::{ECHO_BYTES, PATIENCE, Rounds};
use crate::cores::{self, Placement};
use crate::latency::{Latency, Recorder};
use crate::{Error, ErrorKind};
use bertha_chunnels::Nothing;
use bertha_core::{Addr, Base, Bottom, Connection, Stack, make_stack};
use bertha_datapath_kernel::{Udp, Waiting};
use bertha_negotiation::{Incoming, Negotiate};
use std::net::Ipv4Addr;
use std::sync::mpsc::sync_channel;
use std::time::Instant;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// Echoes 64-byte messages between two ends that agreed on a stack, over loopback, one at a time.
///
/// On one core both ends share a thread and a runtime; across cores each has its own.
///
/// # Errors
/// [`ErrorKind::Core`] when the cores are not there, [`ErrorKind::Socket`] when a connection fails, and
/// [`ErrorKind::Stalled`] when a datagram was lost, since none is sent twice.
pub fn run(placement: Placement, waiting: Waiting, rounds: Rounds) -> Result<Latency, Error> {
    let (client_core, server_core) = placement.cores()?;
    match placement {
        Placement::OneCore => cores::run_on(client_core, || on_one_thread(waiting, rounds)),
        Placement::AcrossCores => std::thread::scope(|scope| {
            let (tell, told) = sync_channel(1);
            let server = scope.spawn(move || {
                cores::pin(server_core)?;
                runtime()?.block_on(in_time(async {
                    let incoming = listen(waiting).await?;
                    // If the client has given up meanwhile, it has an error of its own.
                    let _ = tell.send(incoming.local_addr());
                    serve(incoming).await
                }))
            });
            let client = scope.spawn(move || {
                cores::pin(client_core)?;
                match told.recv() {
                    Ok(server) => runtime()?.block_on(in_time(measure(server, waiting, rounds))),
                    Err(_) => Err(Error::new(ErrorKind::Socket, "the echo server did not start")),
                }
            });
            let latency = cores::join(client);
            cores::join(server).and(latency)
        }),
    }
}

/// As [`run`] on one core, without a thread of its own, for the instruction counter.
///
/// # Errors
/// Those of [`run`].
pub fn on_one_thread(waiting: Waiting, rounds: Rounds) -> Result<Latency, Error> {
    runtime()?.block_on(in_time(async {
        let incoming = listen(waiting).await?;
        let addr = incoming.local_addr();
        let server = tokio::spawn(serve(incoming));
        let latency = measure(addr, waiting, rounds).await?;
        server.await.map_err(Error::while_doing(ErrorKind::Core, "ending the echo server"))??;
        Ok(latency)
    }))
}

fn runtime() -> Result<Runtime, Error> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::while_doing(ErrorKind::Core, "building a tokio runtime"))
}

async fn in_time<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    timeout(PATIENCE, work).await.map_err(Error::while_doing(ErrorKind::Stalled, "awaiting an echo"))?
}

/// The stack of both ends.
type Layers = Stack<Nothing, Bottom>;

async fn listen(waiting: Waiting) -> Result<Incoming<Layers, Udp>, Error> {
    let datapath = Udp::new().waiting(waiting);
    let incoming = make_stack!(Nothing).listen(datapath, (Ipv4Addr::LOCALHOST, 0)).await;
    incoming.map_err(Error::while_doing(ErrorKind::Socket, "opening the echo server"))
}

/// Echoes for one client until it closes.
async fn serve(mut incoming: Incoming<Layers, Udp>) -> Result<(), Error> {
    let echoes = async {
        let Some(connection) = incoming.next().await.transpose()? else { return Ok(()) };
        loop {
            match connection.recv().await {
                Ok(message) => connection.send(message).await?,
                Err(error) if error.kind() == bertha_core::ErrorKind::Closed => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    };
    echoes.await.map_err(Error::while_doing(ErrorKind::Socket, "echoing"))
}

async fn measure(server: Addr, waiting: Waiting, rounds: Rounds) -> Result<Latency, Error> {
    let mut recorder = Recorder::new()?;
    let echoes = async {
        let connection = make_stack!(Nothing).connect(Udp::new().waiting(waiting), server).await?;
        for round in 0..rounds.warm_up + rounds.measured {
            let sent = Instant::now();
            let mut message = connection.base().buffer(ECHO_BYTES)?;
            message.fill(7);
            connection.send(message).await?;
            connection.recv().await?;
            if round >= rounds.warm_up {
                recorder.record(sent.elapsed());
            }
        }
        connection.close().await
    };
    echoes.await.map_err(Error::while_doing(ErrorKind::Socket, "awaiting an echo"))?;
    Ok(recorder.summary())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn every_round_is_measured() {
        let rounds = Rounds { warm_up: 2, measured: 20 };
        for waiting in [Waiting::Park, Waiting::Adaptive { spin_for: Duration::from_micros(100) }] {
            let latency = run(Placement::OneCore, waiting, rounds).unwrap();
            assert!(latency.p50_us > 0.0 && latency.p99_us >= latency.p50_us, "{latency:?}");
        }
    }

    #[test]
    fn a_server_that_cannot_start_is_an_error() {
        let measured = Rounds { warm_up: 0, measured: 1 };
        let lost = runtime().unwrap().block_on(measure(Addr::Unnamed, Waiting::Park, measured));
        assert_eq!(lost.unwrap_err().kind(), ErrorKind::Socket);
    }
}
