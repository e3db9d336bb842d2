//! A UDP echo on tokio's sockets and its current-thread runtime.

use super::{ANY_PORT, ECHO_BYTES, PATIENCE, Rounds, Waiting};
use crate::cores::{self, Placement};
use crate::latency::{Latency, Recorder};
use crate::{Error, ErrorKind};
use std::io;
use std::net::SocketAddr;
use std::time::Instant;
use tokio::net::UdpSocket;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// Echoes 64-byte datagrams between two tasks over loopback, one at a time.
///
/// On one core both tasks share a thread and a runtime; across cores each has its own. Spinning asks the runtime's poller
/// again and again without blocking the thread.
///
/// Loopback with one datagram in flight loses nothing, so nothing is sent twice.
///
/// # Errors
/// [`ErrorKind::Core`] when the cores are not there, [`ErrorKind::Socket`] when a socket fails, and
/// [`ErrorKind::Stalled`] should a datagram be lost all the same.
pub fn run(placement: Placement, waiting: Waiting, rounds: Rounds) -> Result<Latency, Error> {
    let (client_core, server_core) = placement.cores()?;
    match placement {
        Placement::OneCore => cores::run_on(client_core, || on_one_thread(waiting, rounds)),
        Placement::AcrossCores => std::thread::scope(|scope| {
            let (server, address) = open()?;
            let server = scope.spawn(move || {
                cores::pin(server_core)?;
                runtime()?.block_on(in_time(serve(server, waiting)))
            });
            let client = scope.spawn(move || {
                cores::pin(client_core)?;
                runtime()?.block_on(in_time(measure(address, waiting, rounds)))
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
    let (server, address) = open()?;
    runtime()?.block_on(in_time(async {
        let server = tokio::spawn(serve(server, waiting));
        let latency = measure(address, waiting, rounds).await?;
        server.await.map_err(Error::while_doing(ErrorKind::Core, "ending the echo server"))??;
        Ok(latency)
    }))
}

/// The server's socket and its address.
fn open() -> Result<(std::net::UdpSocket, SocketAddr), Error> {
    std::net::UdpSocket::bind(ANY_PORT)
        .and_then(|socket| socket.local_addr().map(|address| (socket, address)))
        .map_err(Error::while_doing(ErrorKind::Socket, "opening the echo server's socket"))
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

/// Echoes until an empty datagram comes.
async fn serve(socket: std::net::UdpSocket, waiting: Waiting) -> Result<(), Error> {
    let mut buffer = [0; ECHO_BYTES];
    let echo = async {
        socket.set_nonblocking(true)?;
        let socket = UdpSocket::from_std(socket)?;
        loop {
            let (length, from) = match waiting {
                Waiting::Park => socket.recv_from(&mut buffer).await?,
                Waiting::Spin => spin(|| socket.try_recv_from(&mut buffer)).await?,
            };
            if length == 0 {
                return io::Result::Ok(());
            }
            socket.send_to(&buffer[..length], from).await?;
        }
    };
    echo.await.map_err(Error::while_doing(ErrorKind::Socket, "echoing"))
}

async fn measure(server: SocketAddr, waiting: Waiting, rounds: Rounds) -> Result<Latency, Error> {
    let mut recorder = Recorder::new()?;
    let mut buffer = [7; ECHO_BYTES];
    let echo = async {
        let socket = UdpSocket::bind(ANY_PORT).await?;
        socket.connect(server).await?;
        for round in 0..rounds.warm_up + rounds.measured {
            let sent = Instant::now();
            socket.send(&buffer).await?;
            match waiting {
                Waiting::Park => socket.recv(&mut buffer).await?,
                Waiting::Spin => spin(|| socket.try_recv(&mut buffer)).await?,
            };
            if round >= rounds.warm_up {
                recorder.record(sent.elapsed());
            }
        }
        socket.send(&[]).await
    };
    echo.await.map_err(Error::while_doing(ErrorKind::Socket, "awaiting an echo"))?;
    Ok(recorder.summary())
}

/// Repeats a non-blocking operation until it is done, giving other tasks and the poller their turn in between.
async fn spin<T>(mut operation: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match operation() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => tokio::task::yield_now().await,
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_is_measured() {
        let rounds = Rounds { warm_up: 2, measured: 20 };
        for waiting in [Waiting::Park, Waiting::Spin] {
            let latency = run(Placement::OneCore, waiting, rounds).unwrap();
            assert!(latency.p50_us > 0.0 && latency.p99_us >= latency.p50_us, "{latency:?}");
        }
    }
}
