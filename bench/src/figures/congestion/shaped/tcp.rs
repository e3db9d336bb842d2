//! A flow of Linux's TCP.

use super::namespaces::{Namespaces, Place, RECEIVER};
use super::{LOOK, Progress};
use crate::{Error, ErrorKind};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;

const CHUNK: usize = 64 << 10;

/// Sends until the flow is over.
pub(super) fn run(namespaces: &Namespaces, control: &str, progress: &Progress) -> Result<(), Error> {
    let (ready, listening) = mpsc::channel();
    std::thread::scope(|scope| {
        let receiving = scope.spawn(move || {
            namespaces.enter(Place::Receiver)?;
            let listener = TcpListener::bind((RECEIVER, progress.port))
                .map_err(Error::while_doing(ErrorKind::Socket, "listening for TCP"))?;
            // The peer may have failed.
            ready.send(listener.local_addr()).unwrap_or_default();
            let received = accept(&listener, progress).and_then(|stream| receive(stream, progress));
            received.map_err(Error::while_doing(ErrorKind::Socket, "receiving by TCP"))
        });
        let sending = scope.spawn(move || {
            namespaces.enter(Place::Sender)?;
            let Ok(addr) = listening.recv() else { return Ok(()) };
            let sent = addr.and_then(|addr| connect(addr, control)).and_then(|stream| send(stream, progress));
            sent.map_err(Error::while_doing(ErrorKind::Socket, "sending by TCP"))
        });
        let [received, sent] =
            [receiving.join(), sending.join()].map(|it| it.unwrap_or_else(|_| Err(panicked())));
        sent.and(received)
    })
}

fn panicked() -> Error {
    Error::new(ErrorKind::Core, "an end of TCP panicked")
}

fn connect(addr: SocketAddr, control: &str) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_tcp_congestion(control.as_bytes())?;
    socket.connect(&SockAddr::from(addr))?;
    Ok(socket.into())
}

fn send(mut stream: TcpStream, progress: &Progress) -> io::Result<()> {
    stream.set_write_timeout(Some(LOOK))?;
    while !progress.is_over.load(Relaxed) {
        match stream.write(&[0; CHUNK]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // The peer has looked first.
            Err(_) if progress.is_over.load(Relaxed) => {}
            other => _ = other?,
        }
    }
    Ok(())
}

/// Accepts a stream; returns `None` once the flow is over, since the peer may have failed.
fn accept(listener: &TcpListener, progress: &Progress) -> io::Result<Option<TcpStream>> {
    listener.set_nonblocking(true)?;
    while !progress.is_over.load(Relaxed) {
        match listener.accept() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(LOOK / 10),
            accepted => return accepted.map(|(stream, _)| Some(stream)),
        }
    }
    Ok(None)
}

fn receive(stream: Option<TcpStream>, progress: &Progress) -> io::Result<()> {
    let Some(mut stream) = stream else { return Ok(()) };
    stream.set_read_timeout(Some(LOOK))?;
    let mut chunk = vec![0; CHUNK];
    while !progress.is_over.load(Relaxed) {
        match stream.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Ok(0) => break,
            other => _ = progress.arrived.fetch_add(other? as u64, Relaxed),
        }
    }
    Ok(())
}
