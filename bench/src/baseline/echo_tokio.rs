//! A UDP echo on tokio's sockets and its current-thread runtime.

use super::{ANY_PORT, ECHO_BYTES, Rounds, Waiting};
use crate::cores::{self, Placement};
use crate::latency::{Latency, Recorder};
use crate::{Error, ErrorKind};
use std::io;
use std::time::Instant;
use tokio::net::UdpSocket;
use tokio::runtime::{Builder, Runtime};

/// Echoes 64-byte datagrams between two tasks over loopback, one at a time.
///
/// On one core both tasks share a thread and a runtime; across cores each has its own. Spinning asks the runtime's poller
/// again and again without blocking the thread.
///
/// Loopback with one datagram in flight loses nothing, so nothing is sent twice; should a datagram be lost all the same,
/// this does not return.
///
/// # Errors
/// [`ErrorKind::Core`] when the cores are not there, [`ErrorKind::Socket`] when a socket fails.
pub fn run(placement: Placement, waiting: Waiting, rounds: Rounds) -> Result<Latency, Error> {
    let (client_core, server_core) = placement.cores()?;
    let server = std::net::UdpSocket::bind(ANY_PORT)
        .map_err(Error::while_doing(ErrorKind::Socket, "opening the echo server's socket"))?;
    let address =
        server.local_addr().map_err(Error::while_doing(ErrorKind::Socket, "asking for the address"))?;
    match placement {
        Placement::OneCore => cores::run_on(client_core, || {
            runtime()?.block_on(async {
                let server = tokio::spawn(serve(server, waiting));
                let latency = measure(address, waiting, rounds).await;
                let served =
                    server.await.map_err(Error::while_doing(ErrorKind::Core, "ending the echo server"))?;
                served.and(latency)
            })
        }),
        Placement::AcrossCores => std::thread::scope(|scope| {
            let server = scope.spawn(move || {
                cores::pin(server_core)?;
                runtime()?.block_on(serve(server, waiting))
            });
            let client = scope.spawn(move || {
                cores::pin(client_core)?;
                runtime()?.block_on(measure(address, waiting, rounds))
            });
            let latency = cores::join(client);
            cores::join(server).and(latency)
        }),
    }
}

fn runtime() -> Result<Runtime, Error> {
    Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(Error::while_doing(ErrorKind::Core, "building a tokio runtime"))
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

async fn measure(server: std::net::SocketAddr, waiting: Waiting, rounds: Rounds) -> Result<Latency, Error> {
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
