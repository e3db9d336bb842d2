//! The handshake in which memory changes hands.
//!
//! ```text
//!  client                                            server
//!     | -- offer: name, version, size; a memfd ------> |
//!     | <-------------- answer: code, largest size --- |
//! ```
//!
//! An offer has 16 bytes: the name `bershm`, a zero, the version 2, and the bytes of a ring as a 64-bit number, least significant
//! byte first. With it comes one descriptor, of a memfd with seals. An answer has nine bytes: a code, and the bytes of the largest
//! ring that the server takes, as above. The codes: 1, the memory is taken; 2, no memory is shared with this user, which a server says
//! before it has read anything; 3, such memory is not taken; 4, the ring is too large, and the client may offer once more. Afterwards
//! the socket carries wake-ups alone.

use crate::mapping::Mapping;
use crate::memory::{SealedMemory, is_memory};
use crate::ring::Layout;
use crate::{Credentials, Users};
use bertha_core::{Error, ErrorKind};
use bertha_runtime::tokio::descriptors;
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, Shutdown, recv, send, sendmsg, shutdown,
};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::time::timeout;

/// How an offer begins: a name and the version.
const MAGIC: [u8; 8] = *b"bershm\0\x02";

/// The bytes of an offer.
const OFFER: usize = 16;

/// The bytes of an answer.
const ANSWER: usize = 9;

/// The time that a client waits for an answer.
const ANSWERED: Duration = Duration::from_secs(5);

/// The time that a client has to offer memory. It has the memory before it connects.
const OFFERED: Duration = Duration::from_secs(1);

/// The server's answer.
const TAKEN: u8 = 1;
/// The server shares no memory with this user.
const NOT_THIS_USER: u8 = 2;
/// The server takes no such memory.
const NOT_THIS_MEMORY: u8 = 3;
/// The server takes rings of the size that follows at most.
const TOO_LARGE: u8 = 4;

/// The result, at both ends.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    pub(crate) memory: Mapping,
    pub(crate) layout: Layout,
    pub(crate) peer: Credentials,
}

/// Offers new memory to the process at the other end, and waits until it is taken. If the server takes smaller rings only, offers
/// those once.
pub(crate) async fn offer(socket: &UnixStream, layout: Layout, users: &Users) -> Result<SharedMemory, Error> {
    descriptors::refuse(socket)?;
    let peer = Credentials::of_peer(socket)?;
    users.check(&peer)?;
    match offer_once(socket, layout).await? {
        Offered::Taken(memory) => Ok(SharedMemory { memory, layout, peer }),
        Offered::TooLarge(largest) => match offer_once(socket, largest).await? {
            Offered::Taken(memory) => Ok(SharedMemory { memory, layout: largest, peer }),
            Offered::TooLarge(_) => Err(not_taken(largest)),
        },
    }
}

/// The answer to an offer.
enum Offered {
    Taken(Mapping),
    /// The server takes rings of this size at most.
    TooLarge(Layout),
}

async fn offer_once(socket: &UnixStream, layout: Layout) -> Result<Offered, Error> {
    let sealed = SealedMemory::create(layout.memory_bytes())?;
    let memory = Mapping::new(&sealed)?;
    let mut bytes = [0; OFFER];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..].copy_from_slice(&(layout.ring_bytes() as u64).to_le_bytes());
    let sent =
        in_time(ANSWERED, socket.async_io(Interest::WRITABLE, || send_offer(socket, &bytes, &sealed))).await;
    let answered = in_time(ANSWERED, socket.async_io(Interest::READABLE, || receive_answer(socket))).await;
    let (code, largest) = match (sent, answered) {
        // A server that shares no memory with this user has said so, and gone, before it is offered anything.
        (_, Ok(answer)) => answer,
        (Err(error), Err(_)) | (Ok(()), Err(error)) => return Err(error),
    };
    match code {
        TAKEN => Ok(Offered::Taken(memory)),
        NOT_THIS_USER => {
            Err(Error::new(ErrorKind::Unauthenticated, "the server shares no memory with this user"))
        }
        NOT_THIS_MEMORY => Err(not_taken(layout)),
        TOO_LARGE => {
            let largest = usize::try_from(largest).ok().filter(|largest| *largest < layout.ring_bytes());
            largest.and_then(Layout::new).map(Offered::TooLarge).ok_or_else(|| not_taken(layout))
        }
        other => Err(Error::new(ErrorKind::Malformed, format!("the server answered {other}"))),
    }
}

#[cold]
fn not_taken(layout: Layout) -> Error {
    Error::new(ErrorKind::Refused, format!("the server takes no rings of {} bytes", layout.ring_bytes()))
}

/// Refuses the process at the other end, and tells it, unless memory is shared with its user.
pub(crate) fn admit(socket: &UnixStream, users: &Users) -> Result<Credentials, Error> {
    let peer = Credentials::of_peer(socket)?;
    match users.check(&peer) {
        Ok(()) => Ok(peer),
        Err(error) => {
            answer(socket, NOT_THIS_USER, 0)?;
            // Nothing that such a process has sent is read.
            shutdown(socket, Shutdown::Write).map_err(io::Error::from)?;
            Err(error)
        }
    }
}

/// Waits for the offer of the process at the other end, and takes it.
pub(crate) async fn take(socket: &UnixStream, users: &Users, largest: Layout) -> Result<SharedMemory, Error> {
    let peer = admit(socket, users)?;
    let most = largest.ring_bytes() as u64;
    let receive = || socket.async_io(Interest::READABLE, || receive_offer(socket));
    let offered = in_time(OFFERED, async {
        let offered = receive().await?;
        if !offered.as_ref().is_ok_and(|offered| offered.is_ring_above(most)) {
            return Ok(offered);
        }
        answer(socket, TOO_LARGE, most)?;
        receive().await
    });
    let offered = offered.await?;
    // From now on wake-ups come, and nothing with them.
    descriptors::refuse(socket)?;
    match offered.and_then(|offered| offered.map(most)) {
        Ok((memory, layout)) => {
            answer(socket, TAKEN, most)?;
            Ok(SharedMemory { memory, layout, peer })
        }
        Err(error) => {
            answer(socket, NOT_THIS_MEMORY, most)?;
            Err(error)
        }
    }
}

async fn in_time<T>(time: Duration, step: impl Future<Output = io::Result<T>>) -> Result<T, Error> {
    match timeout(time, step).await {
        Ok(done) => done.map_err(|error| {
            let error = Error::from(error);
            match error.kind() {
                ErrorKind::Closed | ErrorKind::Reset => {
                    Error::new(ErrorKind::Unreachable, "the other end has gone before memory was shared")
                        .because(error)
                }
                _ => error,
            }
        }),
        Err(_) => {
            Err(Error::new(ErrorKind::TimedOut, "the other end said nothing about the memory to share"))
        }
    }
}

fn send_offer(socket: &UnixStream, bytes: &[u8], memory: &SealedMemory) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let files = [memory.file()];
    if !ancillary.push(SendAncillaryMessage::ScmRights(&files)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // The socket is new, so there is room for all of it.
    sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
    Ok(())
}

fn receive_answer(socket: &UnixStream) -> io::Result<(u8, u64)> {
    let mut answer = [0; ANSWER];
    let (_, read) = recv(socket, &mut answer, RecvFlags::DONTWAIT)?;
    let [code, largest @ ..] = answer;
    match read {
        ANSWER => Ok((code, u64::from_le_bytes(largest))),
        _ => Err(io::ErrorKind::ConnectionReset.into()),
    }
}

fn answer(socket: impl AsFd, code: u8, largest: u64) -> io::Result<()> {
    let mut answer = [code; ANSWER];
    answer[1..].copy_from_slice(&largest.to_le_bytes());
    send(socket, &answer, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
    Ok(())
}

/// The bytes and the file that came in one message.
#[derive(Debug)]
struct Offer {
    ring_bytes: u64,
    file: OwnedFd,
}

impl Offer {
    /// Returns true if a ring has a proper size, and more than `most` bytes.
    fn is_ring_above(&self, most: u64) -> bool {
        let bytes = usize::try_from(self.ring_bytes).ok();
        self.ring_bytes > most && bytes.and_then(Layout::new).is_some()
    }

    /// The memory, if a ring has `most` bytes at most.
    fn map(self, most: u64) -> Result<(Mapping, Layout), Error> {
        let bytes = usize::try_from(self.ring_bytes).ok().filter(|_| self.ring_bytes <= most);
        let layout = bytes.and_then(Layout::new).ok_or_else(|| {
            Error::new(ErrorKind::Refused, format!("rings of {} bytes are not shared", self.ring_bytes))
        })?;
        let sealed = SealedMemory::received(self.file, layout.memory_bytes())?;
        Ok((Mapping::new(&sealed)?, layout))
    }
}

fn receive_offer(socket: &UnixStream) -> io::Result<Result<Offer, Error>> {
    let mut bytes = [0; OFFER];
    let (read, mut files) = descriptors::receive(socket, &mut bytes)?;
    if read == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let (magic, size) = bytes.split_at(MAGIC.len());
    let size = size.first_chunk().map(|size| u64::from_le_bytes(*size));
    Ok(match (files.take_only(is_memory), size) {
        (Some(file), Some(ring_bytes)) if read == OFFER && magic == MAGIC => Ok(Offer { ring_bytes, file }),
        _ => Err(Error::new(ErrorKind::Malformed, "an offer of memory in an unknown form")),
    })
}
