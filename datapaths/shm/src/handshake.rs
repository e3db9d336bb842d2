//! How memory changes hands: the client offers it, and the server answers with one byte.

use crate::Credentials;
use crate::credentials::Users;
use crate::mapping::Mapping;
use crate::memory::SealedMemory;
use crate::ring::Layout;
use bertha_core::{Error, ErrorKind};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recv, recvmsg, send, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::time::timeout;

/// How an offer begins: a name and the version.
const MAGIC: [u8; 8] = *b"bershm\0\x01";

/// An offer: the name, and the bytes of a ring.
const OFFER: usize = 16;

/// How long either end waits for the other.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The server's answer.
const TAKEN: u8 = 1;
/// The server shares no memory with this user.
const NOT_THIS_USER: u8 = 2;
/// The server takes no such memory.
const NOT_THIS_MEMORY: u8 = 3;

/// The result, at both ends.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) memory: Mapping,
    pub(crate) layout: Layout,
    pub(crate) peer: Credentials,
}

/// Offers new memory to the process at the other end, and waits until it is taken.
pub(crate) async fn offer(socket: &UnixStream, layout: Layout, users: &Users) -> Result<Shared, Error> {
    let peer = Credentials::of_peer(socket)?;
    users.check(&peer)?;
    let sealed = SealedMemory::create(layout.memory_bytes())?;
    let memory = Mapping::new(&sealed)?;
    let mut bytes = [0; OFFER];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..].copy_from_slice(&(layout.ring_bytes() as u64).to_le_bytes());
    in_time(socket.async_io(Interest::WRITABLE, || send_offer(socket, &bytes, &sealed))).await?;
    match in_time(socket.async_io(Interest::READABLE, || receive_answer(socket))).await? {
        TAKEN => Ok(Shared { memory, layout, peer }),
        NOT_THIS_USER => {
            Err(Error::new(ErrorKind::Unauthenticated, "the server shares no memory with this user"))
        }
        NOT_THIS_MEMORY => {
            let what = format!("the server takes no rings of {} bytes", layout.ring_bytes());
            Err(Error::new(ErrorKind::Refused, what))
        }
        other => Err(Error::new(ErrorKind::Malformed, format!("the server answered {other}"))),
    }
}

/// Waits for the offer of the process at the other end, and takes it.
pub(crate) async fn take(socket: &UnixStream, users: &Users) -> Result<Shared, Error> {
    let peer = Credentials::of_peer(socket)?;
    // Also of a user who is refused: what nobody has read makes the answer an error of the socket.
    let offered = in_time(socket.async_io(Interest::READABLE, || receive_offer(socket))).await?;
    if let Err(error) = users.check(&peer) {
        answer(socket, NOT_THIS_USER)?;
        return Err(error);
    }
    match offered.and_then(|offered| offered.map()) {
        Ok((memory, layout)) => {
            answer(socket, TAKEN)?;
            Ok(Shared { memory, layout, peer })
        }
        Err(error) => {
            answer(socket, NOT_THIS_MEMORY)?;
            Err(error)
        }
    }
}

async fn in_time<T>(step: impl Future<Output = io::Result<T>>) -> Result<T, Error> {
    match timeout(TIMEOUT, step).await {
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

fn receive_answer(socket: &UnixStream) -> io::Result<u8> {
    let mut answer = [0];
    match recv(socket, &mut answer, RecvFlags::DONTWAIT)? {
        (_, 1) => Ok(answer[0]),
        _ => Err(io::ErrorKind::ConnectionReset.into()),
    }
}

fn answer(socket: impl AsFd, code: u8) -> io::Result<()> {
    send(socket, &[code], SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
    Ok(())
}

/// The bytes and the file that came in one message.
#[derive(Debug)]
struct Offered {
    ring_bytes: u64,
    file: OwnedFd,
}

impl Offered {
    fn map(self) -> Result<(Mapping, Layout), Error> {
        let layout = usize::try_from(self.ring_bytes).ok().and_then(Layout::new).ok_or_else(|| {
            Error::new(ErrorKind::Refused, format!("rings of {} bytes are not shared", self.ring_bytes))
        })?;
        let sealed = SealedMemory::received(self.file, layout.memory_bytes())?;
        Ok((Mapping::new(&sealed)?, layout))
    }
}

fn receive_offer(socket: &UnixStream) -> io::Result<Result<Offered, Error>> {
    let mut bytes = [0; OFFER];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let received = recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, flags)?;
    let files = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    // The kernel closes what does not fit, and this what is too much.
    let file = files.flatten().next();
    if received.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let (magic, size) = bytes.split_at(MAGIC.len());
    let size = size.first_chunk().map(|size| u64::from_le_bytes(*size));
    Ok(match (file, size) {
        (Some(file), Some(ring_bytes)) if received.bytes == OFFER && magic == MAGIC => {
            Ok(Offered { ring_bytes, file })
        }
        _ => Err(Error::new(ErrorKind::Malformed, "an offer of memory in an unknown form")),
    })
}
