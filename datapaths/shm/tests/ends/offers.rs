//! Offers of memory, written by hand.

use bertha_core::ErrorKind;
use bertha_datapath_shm::{Shm, Users};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Number of bytes before the two rings.
pub(crate) const PREFIX: u64 = 4096;

pub(crate) fn memory(bytes: u64, seals: SealFlags) -> OwnedFd {
    let file = memfd_create("hostile", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&file, bytes).unwrap();
    fcntl_add_seals(&file, seals).unwrap();
    file
}

pub(crate) fn all_seals() -> SealFlags {
    SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL
}

pub(crate) fn offer(socket: &UnixStream, magic: &[u8; 8], ring_bytes: u64, files: &[OwnedFd]) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let files: Vec<_> = files.iter().map(AsFd::as_fd).collect();
    if !files.is_empty() {
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(&files)));
    }
    let bytes = [&magic[..], &ring_bytes.to_le_bytes()].concat();
    sendmsg(socket, &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::NOSIGNAL).unwrap();
}

pub(crate) const MAGIC: &[u8; 8] = b"bershm\0\x02";

async fn refused(magic: &[u8; 8], ring_bytes: u64, files: &[OwnedFd]) -> ErrorKind {
    let (client, server) = UnixStream::pair().unwrap();
    offer(&client, magic, ring_bytes, files);
    Shm::new().take(server).await.unwrap_err().kind()
}

#[tokio::test]
async fn only_sealed_memory_of_the_right_size_is_taken() {
    let good = PREFIX + 2 * 65_536;
    let (client, server) = UnixStream::pair().unwrap();
    offer(&client, MAGIC, 65_536, &[memory(good, all_seals())]);
    Shm::new().take(server).await.unwrap();
    let kind = refused(MAGIC, 65_536, &[memory(good, SealFlags::GROW | SealFlags::SEAL)]).await;
    assert_eq!(kind, ErrorKind::Refused, "it could shrink");
    for (bytes, ring) in
        [(good - 1, 65_536), (good + 4096, 65_536), (good, 65_537), (4096, 0), (good, u64::MAX)]
    {
        assert_eq!(refused(MAGIC, ring, &[memory(bytes, all_seals())]).await, ErrorKind::Refused, "{bytes}");
    }
    assert_eq!(refused(MAGIC, 65_536, &[]).await, ErrorKind::Malformed);
    let kind = refused(b"bershm\0\x01", 65_536, &[memory(good, all_seals())]).await;
    assert_eq!(kind, ErrorKind::Malformed, "another version");
    let readable = memory(good, all_seals() | SealFlags::FUTURE_WRITE);
    assert_eq!(refused(MAGIC, 65_536, &[readable]).await, ErrorKind::Io, "it can't be written to");
}

#[tokio::test]
async fn users_that_are_not_named_are_refused_on_either_side() {
    let nobody = || Shm::new().users(Users::Only(vec![u32::MAX - 1]));
    let (client, server) = UnixStream::pair().unwrap();
    let (anybody, picky) = (Shm::new(), nobody());
    let (client, server) = tokio::join!(anybody.offer(client), picky.take(server));
    assert_eq!(client.unwrap_err().kind(), ErrorKind::Unauthenticated);
    assert_eq!(server.unwrap_err().kind(), ErrorKind::Unauthenticated);
    let (client, server) = UnixStream::pair().unwrap();
    let (client, server) = tokio::join!(picky.offer(client), anybody.take(server));
    assert_eq!(client.unwrap_err().kind(), ErrorKind::Unauthenticated);
    assert_eq!(server.unwrap_err().kind(), ErrorKind::Unreachable, "it was offered nothing");
}
