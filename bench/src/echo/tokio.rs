//! The echo on tokio's sockets.

use super::{ANY_PORT, BYTES, Program, Rounds};
use crate::harness::{Latency, Recorder, in_time, runtime};
use crate::{Error, ErrorKind};
use std::io;
use std::net::SocketAddr;
use std::time::Instant;
use tokio::net::UdpSocket;
use tokio::sync::oneshot;

/// Echoes until an empty datagram arrives.
pub(super) async fn serve(program: Program, tell: oneshot::Sender<SocketAddr>) -> Result<(), Error> {
    let mut buffer = [0; BYTES];
    let echo = async {
        let socket = UdpSocket::bind(ANY_PORT).await?;
        // A client that has given up reports an error of its own.
        let _ = tell.send(socket.local_addr()?);
        loop {
            let (length, from) = match program {
                Program::TokioSpinning => spin(|| socket.try_recv_from(&mut buffer)).await?,
                _ => socket.recv_from(&mut buffer).await?,
            };
            if length == 0 {
                return io::Result::Ok(());
            }
            socket.send_to(&buffer[..length], from).await?;
        }
    };
    echo.await.map_err(failed)
}

/// Times round trips to the server.
pub(super) async fn measure(
    told: oneshot::Receiver<SocketAddr>,
    program: Program,
    rounds: Rounds,
) -> Result<Latency, Error> {
    let server = told.await.map_err(Error::while_doing(ErrorKind::Socket, "waiting for the server"))?;
    let mut recorder = Recorder::new()?;
    let mut buffer = [7; BYTES];
    let echo = async {
        let socket = UdpSocket::bind(ANY_PORT).await?;
        socket.connect(server).await?;
        for round in 0..rounds.warm_up + rounds.measured {
            let sent = Instant::now();
            socket.send(&buffer).await?;
            match program {
                Program::TokioSpinning => spin(|| socket.try_recv(&mut buffer)).await?,
                _ => socket.recv(&mut buffer).await?,
            };
            if round >= rounds.warm_up {
                recorder.record(sent.elapsed());
            }
        }
        socket.send(&[]).await
    };
    echo.await.map_err(failed)?;
    Ok(recorder.summary())
}

/// Runs both ends in a single task, each of which finds its data there.
pub(super) fn ready(rounds: Rounds) -> Result<(), Error> {
    let echoes = async {
        let server = UdpSocket::bind(ANY_PORT).await?;
        let client = UdpSocket::bind(ANY_PORT).await?;
        client.connect(server.local_addr()?).await?;
        let mut message = [7; BYTES];
        let mut buffer = [0; BYTES];
        for _ in 0..rounds.measured {
            client.send(&message).await?;
            let (length, from) = server.recv_from(&mut buffer).await?;
            server.send_to(&buffer[..length], from).await?;
            client.recv(&mut message).await?;
        }
        Ok(())
    };
    runtime()?.block_on(in_time(async { echoes.await.map_err(failed) }))
}

/// Repeats a non-blocking operation until it is done, and lets other tasks and the poller run in between.
async fn spin<T>(mut operation: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match operation() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => tokio::task::yield_now().await,
            result => return result,
        }
    }
}

fn failed(error: io::Error) -> Error {
    Error::while_doing(ErrorKind::Socket, "echoing over tokio's sockets")(error)
}
