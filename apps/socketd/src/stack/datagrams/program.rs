//! The daemon's end of the carrier of a socket of datagrams.

use bertha_runtime::tokio::descriptors;
use bertha_sockets_machine::datagrams::{HEAD, Head, LONGEST, NOWHERE};
use bertha_sockets_machine::device::{Place, name};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind,
    recv, sendmsg, socketpair,
};
use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;
use tokio::io::Interest;
use tokio::net::UnixStream;

/// Room for a message. All sockets have one, as each message is looked at before the next one is read.
#[derive(Debug)]
pub(crate) struct Room(RefCell<Box<[u8]>>);

impl Room {
    /// Makes room for the longest message, and one byte more, by which a longer one is known.
    pub(crate) fn new() -> Self {
        Self(RefCell::new(vec![0; HEAD + LONGEST + 1].into()))
    }
}

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

    /// Waits for a message of the program, and returns what `look` makes of it; `None` once the program has closed its socket.
    pub(super) async fn read<T>(&self, room: &Room, look: impl Fn(&[u8]) -> T) -> io::Result<Option<T>> {
        let read = || {
            let mut room = room.0.borrow_mut();
            let (read, _) = recv(&self.0, &mut room[..], RecvFlags::DONTWAIT)?;
            Ok((read > 0).then(|| look(&room[..read])))
        };
        self.0.async_io(Interest::READABLE, read).await
    }

    /// Gives the program a message. Returns false if it has no room, as it reads too slowly.
    pub(super) fn tell(&self, head: Head, bytes: &[u8]) -> bool {
        let head = head.encode();
        let parts = [IoSlice::new(&head), IoSlice::new(bytes)];
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        sendmsg(&self.0, &parts, &mut SendAncillaryBuffer::default(), flags).is_ok()
    }
}
