//! The echo over a negotiated connection.

use super::{ANY_PORT, BYTES, Rounds};
use crate::harness::{Latency, Recorder, in_time, runtime};
use crate::{Error, ErrorKind};
use bertha_chunnels::Nothing;
use bertha_core::{Addr, Base, Connection, make_stack};
use bertha_datapath_kernel::{Udp, Waiting};
use bertha_negotiation::Negotiate;
use std::time::Instant;
use tokio::sync::oneshot;

/// Echoes for a single client until it closes.
pub(super) async fn serve(waiting: Waiting, tell: oneshot::Sender<Addr>) -> Result<(), Error> {
    let echoes = async {
        let mut incoming = make_stack!(Nothing).listen(Udp::new().waiting(waiting), ANY_PORT).await?;
        // A client that has given up reports an error of its own.
        let _ = tell.send(incoming.local_addr());
        let Some(connection) = incoming.next_or_refusal().await.transpose()? else { return Ok(()) };
        loop {
            match connection.recv().await {
                Ok(message) => connection.send(message).await?,
                Err(error) if error.kind() == bertha_core::ErrorKind::Closed => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    };
    echoes.await.map_err(failed)
}

/// Times round trips to the server.
pub(super) async fn measure(
    told: oneshot::Receiver<Addr>,
    waiting: Waiting,
    rounds: Rounds,
) -> Result<Latency, Error> {
    let server = told.await.map_err(Error::while_doing(ErrorKind::Socket, "waiting for the server"))?;
    let mut recorder = Recorder::new()?;
    let echoes = async {
        let connection = make_stack!(Nothing).connect(Udp::new().waiting(waiting), server).await?;
        for round in 0..rounds.warm_up + rounds.measured {
            let sent = Instant::now();
            send(&connection).await?;
            connection.recv().await?;
            if round >= rounds.warm_up {
                recorder.record(sent.elapsed());
            }
        }
        connection.close().await
    };
    echoes.await.map_err(failed)?;
    Ok(recorder.summary())
}

/// Runs both ends in a single task, each of which finds its data there.
pub(super) fn ready(rounds: Rounds) -> Result<(), Error> {
    let echoes = async {
        let mut incoming = make_stack!(Nothing).listen(Udp::new(), ANY_PORT).await?;
        let stack = make_stack!(Nothing);
        let addr = incoming.local_addr();
        let (client, server) = tokio::join!(stack.connect(Udp::new(), addr), incoming.next_or_refusal());
        let (client, Some(server)) = (client?, server.transpose()?) else { return Ok(()) };
        for _ in 0..rounds.measured {
            send(&client).await?;
            server.send(server.recv().await?).await?;
            client.recv().await?;
        }
        Ok(())
    };
    runtime()?.block_on(in_time(async { echoes.await.map_err(failed) }))
}

async fn send(connection: &impl Connection<Data = bertha_core::Buf>) -> Result<(), bertha_core::Error> {
    let mut message = connection.base().buffer(BYTES)?;
    message.fill(7);
    connection.send(message).await
}

fn failed(error: bertha_core::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, "echoing over Bertha")(error)
}
