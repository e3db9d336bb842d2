//! A UDP echo on the standard library's sockets: two threads, blocking or spinning.

use super::{ANY_PORT, ECHO_BYTES, PATIENCE, Rounds, Waiting};
use crate::cores::{self, Placement};
use crate::latency::{Latency, Recorder};
use crate::{Error, ErrorKind};
use std::io;
use std::net::UdpSocket;
use std::time::Instant;

/// Echoes 64-byte datagrams between two pinned threads over loopback, one at a time.
///
/// Loopback with one datagram in flight loses nothing, so nothing is sent twice.
///
/// # Errors
/// [`ErrorKind::Core`] when the cores are not there, [`ErrorKind::Socket`] when a socket fails, and
/// [`ErrorKind::Stalled`] should a datagram be lost all the same.
pub fn run(placement: Placement, waiting: Waiting, rounds: Rounds) -> Result<Latency, Error> {
    let (client_core, server_core) = placement.cores()?;
    let server = open(waiting)?;
    let client = open(waiting)?;
    let address =
        server.local_addr().map_err(Error::while_doing(ErrorKind::Socket, "asking for the address"))?;
    client.connect(address).map_err(Error::while_doing(ErrorKind::Socket, "connecting the echo client"))?;
    std::thread::scope(|scope| {
        let server = scope.spawn(move || cores::pin(server_core).and_then(|()| serve(&server, waiting)));
        let client = scope.spawn(move || {
            let latency = cores::pin(client_core).and_then(|()| measure(&client, waiting, rounds));
            farewell(&client).and(latency)
        });
        let latency = cores::join(client);
        cores::join(server).and(latency)
    })
}

fn open(waiting: Waiting) -> Result<UdpSocket, Error> {
    let open = || -> io::Result<UdpSocket> {
        let socket = UdpSocket::bind(ANY_PORT)?;
        socket.set_nonblocking(waiting == Waiting::Spin)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        Ok(socket)
    };
    open().map_err(failed("opening an echo socket"))
}

/// Echoes until an empty datagram comes.
fn serve(socket: &UdpSocket, waiting: Waiting) -> Result<(), Error> {
    let mut buffer = [0; ECHO_BYTES];
    let mut echo = || -> io::Result<bool> {
        let (length, from) = ready(waiting, || socket.recv_from(&mut buffer))?;
        if length > 0 {
            ready(waiting, || socket.send_to(&buffer[..length], from))?;
        }
        Ok(length > 0)
    };
    while echo().map_err(failed("echoing"))? {}
    Ok(())
}

fn measure(socket: &UdpSocket, waiting: Waiting, rounds: Rounds) -> Result<Latency, Error> {
    let mut recorder = Recorder::new()?;
    let mut buffer = [7; ECHO_BYTES];
    let mut round_trip = || -> io::Result<()> {
        ready(waiting, || socket.send(&buffer))?;
        ready(waiting, || socket.recv(&mut buffer))?;
        Ok(())
    };
    for round in 0..rounds.warm_up + rounds.measured {
        let sent = Instant::now();
        round_trip().map_err(failed("awaiting an echo"))?;
        if round >= rounds.warm_up {
            recorder.record(sent.elapsed());
        }
    }
    Ok(recorder.summary())
}

/// Tells the server to stop.
fn farewell(socket: &UdpSocket) -> Result<(), Error> {
    socket.send(&[]).map(drop).map_err(Error::while_doing(ErrorKind::Socket, "stopping the echo server"))
}

/// An error that says whether the socket failed or nothing came.
fn failed(doing: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |error| {
        let kind = match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ErrorKind::Stalled,
            _ => ErrorKind::Socket,
        };
        Error::new(kind, doing).because(error)
    }
}

/// After so many attempts in vain, a minute or two of them, a spinning end gives up.
const ATTEMPTS: u32 = 200_000_000;

/// Repeats a non-blocking operation until it is done; a blocking one is done at once.
#[inline]
fn ready<T>(waiting: Waiting, mut operation: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 1..ATTEMPTS {
        match operation() {
            Err(error) if waiting == Waiting::Spin && error.kind() == io::ErrorKind::WouldBlock => {
                std::hint::spin_loop();
            }
            result => return result,
        }
    }
    operation()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_is_measured() {
        let rounds = Rounds { warm_up: 2, measured: 20 };
        let latency = run(Placement::OneCore, Waiting::Park, rounds).unwrap();
        assert!(latency.p50_us > 0.0 && latency.p99_us >= latency.p50_us, "{latency:?}");
    }
}
