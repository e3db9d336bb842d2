//! Relays: a socket takes the place of a program's TCP socket, whose other end does not answer, and the daemon carries the bytes between
//! the two.
//!
//! A program that begins another one, or hands a socket on, has to give away a socket of the kernel. What lies unread in its ring was
//! sent, and is in no socket: it goes first to the new one. The daemon gets it in a file that nobody else changes in its favour: it
//! reads the file as it reads a socket, and neither maps it nor knows of rings.

mod pair;
mod pump;

use crate::message;
use bertha_program::Crowd;
use bertha_runtime::tokio::Credentials;
use bertha_runtime::tokio::descriptors::{Aside, close_aside};
use bertha_sockets_machine::device::Reply;
use bertha_sockets_machine::protocol::{CUT, UNREAD};
use nix::libc;
use pair::Addresses;
use pump::{Ends, Unread};
use rustix::net::SocketType;
use rustix::net::sockopt::{socket_acceptconn, socket_protocol, socket_type};
use std::cell::RefCell;
use std::fmt::Write;
use std::io;
use std::net::TcpStream as StdStream;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::{AbortHandle, spawn_local};
use tokio::time::timeout;

/// The relays at once, at most. One too many costs the oldest of the user who has most.
const RELAYS: usize = 1024;

/// The time that a program has to write what it has not read into the file.
const WRITTEN: Duration = Duration::from_secs(5);

/// The time in which the kernel makes a connection of this machine.
const MADE: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct Relay {
    since: Instant,
    owner: Credentials,
    addresses: Addresses,
    task: AbortHandle,
}

/// The relays of all users.
#[derive(Debug)]
pub(crate) struct Relays(RefCell<Crowd<Relay>>);

impl Relays {
    pub(crate) fn new() -> Self {
        Self(RefCell::new(Crowd::new(RELAYS)))
    }

    /// Gives a visitor a socket in the place of its own, and carries the bytes between the two from then on.
    pub(crate) async fn serve(
        &self,
        visitor: &UnixStream,
        owner: Credentials,
        socket: OwnedFd,
        unread: OwnedFd,
    ) {
        match begin(visitor, socket, unread).await {
            Ok((addresses, ends, unread)) => {
                let task = spawn_local(pump::carry(ends, unread)).abort_handle();
                let relay = Relay { since: Instant::now(), owner, addresses, task };
                let mut relays = self.0.borrow_mut();
                relays.retain(|relay| !relay.task.is_finished());
                // Dropping its ends is a cut.
                if let (_, Some(gone)) = relays.add(relay.owner.user, relay) {
                    gone.task.abort();
                }
            }
            Err(error) => {
                tracing::debug!(%error, "a socket is not relayed");
                let reply = Reply::Failed(libc::ECONNREFUSED).encode();
                let _ = message::send(visitor.as_fd(), &reply, None);
            }
        }
    }

    /// Returns a line for each relay that a user may see.
    pub(crate) fn lines(&self, asker: u32) -> String {
        let mut relays = self.0.borrow_mut();
        relays.retain(|relay| !relay.task.is_finished());
        let mut text = String::new();
        for Relay { since, owner, addresses: Addresses { local, peer }, .. } in relays.iter() {
            if asker != 0 && asker != owner.user {
                continue;
            }
            let process = owner.process.map_or_else(|| "-".into(), |process| process.to_string());
            let seconds = since.elapsed().as_secs();
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "{process}\t{local}\t{peer}\trelay\t0\t{seconds}\tits bytes lay in a ring when it was handed on"
            );
        }
        text
    }
}

/// Makes the other socket, sends it, and waits for the bytes that come first.
async fn begin(
    visitor: &UnixStream,
    socket: OwnedFd,
    unread: OwnedFd,
) -> io::Result<(Addresses, Ends, Unread)> {
    if !is_stream_of_tcp(&socket) {
        close_aside(socket);
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let made = async {
        let addresses = Addresses::of(&socket)?;
        let made = timeout(MADE, pair::make(&addresses)).await??;
        io::Result::Ok((addresses, made))
    };
    let (addresses, (own, program)) = match made.await {
        Ok(made) => made,
        Err(error) => {
            // The program goes on with it.
            close_aside(socket);
            return Err(error);
        }
    };
    let socket = StdStream::from(socket);
    socket.set_nonblocking(true)?;
    let ends = Ends::new(Aside::new(TcpStream::from_std(socket)?), own)?;
    message::send(visitor.as_fd(), &Reply::Taken.encode(), Some(program.as_fd()))?;
    drop(program);
    let length = timeout(WRITTEN, length(visitor)).await??;
    let (length, is_cut) = (length & !CUT, length & CUT != 0);
    if length > UNREAD {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok((addresses, ends, Unread::new(unread, length, is_cut)))
}

/// Returns true for a socket that carries a stream of TCP, or may have carried one.
fn is_stream_of_tcp(socket: &OwnedFd) -> bool {
    socket_type(socket) == Ok(SocketType::STREAM)
        && socket_protocol(socket) == Ok(Some(rustix::net::ipproto::TCP))
        && socket_acceptconn(socket) == Ok(false)
}

/// Waits for the number of bytes in the file.
async fn length(visitor: &UnixStream) -> io::Result<u64> {
    let (mut bytes, mut had) = ([0; 8], 0);
    while had < bytes.len() {
        visitor.readable().await?;
        match visitor.try_read(&mut bytes[had..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => had += read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(u64::from_le_bytes(bytes))
}
