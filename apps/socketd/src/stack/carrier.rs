//! The daemon's end of a carrier.

use crate::message;
use bertha_runtime::tokio::descriptors;
use bertha_sockets_machine::device::{Place, name};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType, bind, send, shutdown,
    socketpair,
};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use tokio::io::Interest;
use tokio::net::UnixStream;

/// The daemon's end of a carrier.
#[derive(Debug)]
pub(super) struct Carrier {
    own: UnixStream,
    /// The zeros that keep the program from writing.
    filler: usize,
}

/// The bytes or the end that a program has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Read {
    /// So many bytes.
    Bytes(usize),
    /// So many bytes, and then the end of its direction; a byte is left unread behind it.
    Last(usize),
    /// The program has closed its socket, or ended its direction in a way that was not seen.
    Over,
}

impl Carrier {
    /// Makes a pair. Returns the daemon's end, and the program's.
    pub(super) fn pair() -> io::Result<(Self, OwnedFd)> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (own, program) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        let own = UnixStream::from_std(StdStream::from(own))?;
        Ok((Self { own, filler: 0 }, program))
    }

    /// Keeps the program from writing.
    pub(super) fn fill(&mut self, program: BorrowedFd<'_>) -> io::Result<()> {
        let zeros = [0; 8 << 10];
        while is(program, PollFlags::OUT) {
            match send(program, &zeros, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(sent) => self.filler += sent,
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Shows the program that it is connected, and its addresses.
    pub(super) fn connected(&mut self, local: SocketAddr, peer: SocketAddr, unique: u64) -> io::Result<()> {
        let name = name(Place::from(local), Place::from(peer), unique);
        bind(&self.own, &SocketAddrUnix::new_abstract_name(&name[1..])?)?;
        let mut zeros = [0; 8 << 10];
        while self.filler > 0 {
            let most = zeros.len().min(self.filler);
            match rustix::io::read(&self.own, &mut zeros[..most])? {
                0 => break,
                read => self.filler -= read,
            }
        }
        Ok(())
    }

    /// Shows the program that it is not connected, and why.
    pub(super) fn failed(self, errno: i32) {
        // The numbers of all errors fit into a byte. A program that has gone needs none.
        let _ = message::send(self.own.as_fd(), &[errno as u8], None);
    }

    /// Waits for bytes of the program.
    pub(super) async fn read(&self, bytes: &mut [u8]) -> io::Result<Read> {
        let received = || descriptors::receive(&self.own, bytes);
        let (read, files) = self.own.async_io(Interest::READABLE, received).await?;
        Ok(match read {
            0 => Read::Over,
            _ if files.is_empty() => Read::Bytes(read),
            _ => Read::Last(read - 1),
        })
    }

    /// Writes all bytes to the program.
    pub(super) async fn write(&self, messages: &[impl AsRef<[u8]>]) -> io::Result<()> {
        let mut slices: Vec<_> = messages.iter().map(|message| IoSlice::new(message.as_ref())).collect();
        let mut rest = &mut slices[..];
        IoSlice::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            self.own.writable().await?;
            match self.own.try_write_vectored(rest) {
                Ok(written) => IoSlice::advance_slices(&mut rest, written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Ends the direction to the program.
    pub(super) fn end(&self) -> io::Result<()> {
        Ok(shutdown(&self.own, Shutdown::Write)?)
    }

    /// Returns true if the program has closed its socket. Once the direction to the program has ended, it may have ended its own alone.
    pub(super) fn is_closed(&self) -> bool {
        is(self.own.as_fd(), PollFlags::HUP)
    }

    /// Closes this end so that nothing looks like a cut.
    pub(super) fn close_in_order(self) {
        let mut unread = [0; 64];
        while let Ok(1..) = rustix::io::read(&self.own, &mut unread) {}
    }
}

fn is(socket: BorrowedFd<'_>, flags: PollFlags) -> bool {
    let mut asked = [PollFd::from_borrowed_fd(socket, flags)];
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut asked, Some(&now)).is_ok() && asked[0].revents().contains(flags)
}
