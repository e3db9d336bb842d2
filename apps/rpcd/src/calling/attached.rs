//! An application that was taken, and what it hears beside its queue.

use crate::parties::link::Link;
use bertha_datapath_shm::ShmConnection;
use bertha_managed::attach::Answer;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use tokio::io::Interest;
use tokio::net::UnixStream;

/// An application that was taken.
#[derive(Debug)]
pub(crate) struct Attached {
    pub(crate) link: Arc<Link>,
    pub(crate) socket: UnixStream,
    pub(crate) queue: ShmConnection,
}

/// Sends an answer, with the descriptor that belongs to it, once earlier ones were taken: the kernel bounds the descriptors of a user that
/// are on their way.
pub(crate) async fn send(
    socket: &UnixStream,
    answer: Answer,
    file: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let bytes = answer.to_bytes();
    let sent = socket.async_io(Interest::WRITABLE, || {
        if poll(&mut [PollFd::new(socket, PollFlags::OUT)], Some(&Timespec::default()))? == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let files: Vec<_> = file.into_iter().collect();
        if !files.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(&files)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        Ok(sendmsg(socket, &[IoSlice::new(&bytes)], &mut ancillary, flags)?)
    });
    if sent.await? == bytes.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}
