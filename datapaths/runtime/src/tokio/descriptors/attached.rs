//! Descriptors that came with a message.

use super::close_aside;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

/// The descriptors that came with a message. Those that nobody takes are closed [aside](close_aside).
#[derive(Debug, Default)]
pub struct Attached(Vec<OwnedFd>);

impl Attached {
    /// The number of descriptors.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if no descriptor came with the message.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The descriptors in the order in which the peer attached them.
    pub fn iter(&self) -> impl Iterator<Item = &OwnedFd> {
        self.0.iter()
    }

    /// Takes the descriptor, if exactly one came and `is_wanted` accepts it.
    pub fn take_only(&mut self, is_wanted: impl FnOnce(&OwnedFd) -> bool) -> Option<OwnedFd> {
        match &self.0[..] {
            [only] if is_wanted(only) => self.0.pop(),
            _ => None,
        }
    }

    /// Takes the descriptors in their order, if exactly so many came and `are_wanted` accepts them.
    pub fn take_all<const N: usize>(
        &mut self,
        are_wanted: impl FnOnce([&OwnedFd; N]) -> bool,
    ) -> Option<[OwnedFd; N]> {
        let all: [&OwnedFd; N] = self.0.iter().collect::<Vec<_>>().try_into().ok()?;
        if are_wanted(all) { std::mem::take(&mut self.0).try_into().ok() } else { None }
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.0.drain(..).for_each(close_aside);
    }
}

/// Receives a message, or bytes of a stream, with all descriptors that came with it. Does not wait.
///
/// There is room for as many descriptors as a message can have, so that the kernel closes none of them on the calling thread.
///
/// # Errors
/// The errors of `recvmsg`.
pub fn receive(socket: impl AsFd, bytes: &mut [u8]) -> io::Result<(usize, Attached)> {
    // SCM_MAX_FD of Linux.
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(253))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let received = recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut ancillary, flags)?;
    let descriptors = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    Ok((received.bytes, Attached(descriptors.flatten().collect())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokio::descriptors::refuse;
    use rustix::io::Errno;
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    use std::io::IoSlice;
    use std::os::unix::net::UnixStream;

    fn send(socket: &UnixStream, count: usize) -> Result<usize, Errno> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(253))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let descriptors = vec![socket.as_fd(); count];
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)));
        sendmsg(socket, &[IoSlice::new(b"hello")], &mut ancillary, SendFlags::NOSIGNAL)
    }

    #[test]
    fn all_descriptors_come_and_only_the_wanted_one_stays() {
        let (sender, receiver) = UnixStream::pair().unwrap();
        send(&sender, 253).unwrap();
        let mut bytes = [0; 16];
        let (read, mut attached) = receive(&receiver, &mut bytes).unwrap();
        assert_eq!((read, attached.len()), (5, 253));
        assert!(attached.take_only(|_| true).is_none());
        send(&sender, 1).unwrap();
        let (_, mut attached) = receive(&receiver, &mut bytes).unwrap();
        assert!(attached.take_only(|_| false).is_none());
        assert!(attached.take_all(|[_, _]| true).is_none() && attached.take_all(|[_]| false).is_none());
        assert!(attached.take_only(|_| true).is_some() && attached.is_empty());
        send(&sender, 2).unwrap();
        let (_, mut attached) = receive(&receiver, &mut bytes).unwrap();
        assert!(attached.take_all(|[_, _]| true).is_some() && attached.is_empty());
    }

    #[test]
    fn a_socket_that_refuses_descriptors_gets_none() {
        let (sender, receiver) = UnixStream::pair().unwrap();
        refuse(&receiver).unwrap();
        match send(&sender, 1) {
            Err(error) => assert_eq!(error, Errno::PERM),
            Ok(_) => println!("skipped: this system knows no SO_PASSRIGHTS"),
        }
    }
}
