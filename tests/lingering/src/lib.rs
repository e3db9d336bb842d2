//! Sockets whose close waits, for tests of descriptors that strangers attach to messages.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use rustix::net::sockopt::set_socket_linger;
use std::io::{ErrorKind, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// Time for which the last close waits, far longer than a test.
const LINGER: Duration = Duration::from_secs(600);

/// Returns a socket whose last close waits for minutes, and the end that keeps it waiting: the socket's buffer
/// is full, and the end reads nothing.
///
/// # Panics
/// Panics if the system gives no sockets.
pub fn lingering() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (receiver, _) = listener.accept().unwrap();
    sender.set_nonblocking(true).unwrap();
    loop {
        match sender.write(&[0; 65_536]) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => panic!("{error}"),
        }
    }
    sender.set_nonblocking(false).unwrap();
    set_socket_linger(&sender, Some(LINGER)).unwrap();
    (sender, receiver)
}
