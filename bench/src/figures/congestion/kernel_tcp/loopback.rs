//! A flow of Linux's TCP over the loopback interface.

use crate::{Error, ErrorKind};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const CHUNK: usize = 256 << 10;

/// A time that lasts until the bytes of a flow are counted, and the time in which they are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) warm_up: Duration,
    pub(super) counted: Duration,
}

/// Sends as fast as a control of the kernel allows, and returns the bytes that arrive in a second. `begins` is called when the time
/// begins in which they are counted, and `check` gets its result when that time is over.
///
/// # Errors
/// [`ErrorKind::Socket`] if the flow fails, and the error of `check`.
pub(super) fn carried<T>(
    control: &str,
    Times { warm_up, counted }: Times,
    begins: impl FnOnce() -> T,
    check: impl FnOnce(T) -> Result<(), Error>,
) -> Result<f64, Error> {
    let failed = |what| Error::while_doing(ErrorKind::Socket, what);
    let (sender, receiver) = connected(control).map_err(failed("connecting by TCP over loopback"))?;
    let arrived = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let receiving = scope.spawn(|| receive(&receiver, &arrived));
        let sending = scope.spawn(|| send(&sender));
        std::thread::sleep(warm_up);
        let (begun, before, start) = (begins(), arrived.load(Relaxed), Instant::now());
        std::thread::sleep(counted);
        let rate = (arrived.load(Relaxed) - before) as f64 / start.elapsed().as_secs_f64();
        let checked = check(begun);
        // Both ends run until the flow is cut; one that has ended before has failed.
        let is_whole = !sending.is_finished() && !receiving.is_finished();
        let cut = sender.shutdown(std::net::Shutdown::Both);
        let ends = [sending.join(), receiving.join()].map(|end| end.unwrap_or(Ok(())));
        if !is_whole {
            ends.into_iter().collect::<io::Result<()>>().map_err(failed("a flow of TCP over loopback"))?;
            return Err(Error::new(ErrorKind::Socket, "a flow of TCP over loopback has ended"));
        }
        cut.map_err(failed("ending a flow of TCP over loopback"))?;
        checked.map(|()| rate)
    })
}

/// Returns both ends of a connection, of which the first has the congestion control.
fn connected(control: &str) -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_tcp_congestion(control.as_bytes())?;
    socket.connect(&SockAddr::from(listener.local_addr()?))?;
    let (receiver, _) = listener.accept()?;
    Ok((socket.into(), receiver))
}

fn send(mut stream: &TcpStream) -> io::Result<()> {
    let chunk = vec![0; CHUNK];
    loop {
        stream.write_all(&chunk)?;
    }
}

fn receive(mut stream: &TcpStream, arrived: &AtomicU64) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    loop {
        match stream.read(&mut chunk)? {
            0 => return Ok(()),
            length => arrived.fetch_add(length as u64, Relaxed),
        };
    }
}
