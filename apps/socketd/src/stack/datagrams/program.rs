//! The daemon's end of the carrier of a socket of datagrams.

use bertha_runtime::tokio::descriptors;
use bertha_sockets_machine::datagrams::{HEAD, Head, LONGEST, NOWHERE};
use bertha_sockets_machine::device::{Place, name};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind,
    recv, sendmsg, socketpair,
};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;
use tokio::io::Interest;
use tokio::net::UnixStream;

/// The bytes of the longest message, and one more, by which a longer one is known.
pub(super) const ROOM: usize = HEAD + LONGEST + 1;

/// The daemon's end of the carrier of a socket of datagrams.
#[derive(Debug)]
pub(super) struct Program(UnixStream);

impl Program {
    /// Makes a pair. Returns the daemon's end, and the program's.
    pub(super) fn pair() -> io::Result<(Self, OwnedFd)> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (own, program) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        // The runtime has no type for sockets of this kind, and does not look at the kind of what it waits for.
        let own = UnixStream::from_std(StdStream::from(own))?;
        descriptors::refuse(&own)?;
        Ok((Self(own), program))
    }

    /// Tells the program the address of its socket.
    pub(super) fn name(&self, local: SocketAddr, unique: u64) -> io::Result<()> {
        let name = name(Place::from(local), NOWHERE, unique);
        Ok(bind(&self.0, &SocketAddrUnix::new_abstract_name(&name[1..])?)?)
    }

    /// Waits for a message of the program, into a buffer of [`ROOM`] bytes. Returns its bytes, of which there are none once the program has closed
    /// its socket.
    pub(super) async fn read<'a>(&self, bytes: &'a mut [u8]) -> io::Result<&'a [u8]> {
        let read =
            self.0.async_io(Interest::READABLE, || Ok(recv(&self.0, &mut *bytes, RecvFlags::DONTWAIT)?.0));
        let read = read.await?;
        Ok(&bytes[..read])
    }

    /// Gives the program a message. Returns false if it has no room, as it reads too slowly.
    pub(super) fn tell(&self, head: Head, bytes: &[u8]) -> bool {
        let head = head.encode();
        let parts = [IoSlice::new(&head), IoSlice::new(bytes)];
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        sendmsg(&self.0, &parts, &mut SendAncillaryBuffer::default(), flags).is_ok()
    }
}
