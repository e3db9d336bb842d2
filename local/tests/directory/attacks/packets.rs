//! What an attacker says to a directory, byte by byte.

use bertha_local::directory::Rules;
use bertha_local::directory::server::DirectoryServer;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, SocketAddrUnix, SocketType, connect, recvmsg, sendmsg,
    shutdown, socket,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// The time after which an attack has succeeded: an end that waits that long is held up. Far above what a busy machine needs.
pub(crate) const HELD_UP: Duration = Duration::from_secs(30);

/// The time for which an end of the tests waits for a directory on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A directory that runs on a thread and a runtime of its own, as in a process of its own.
pub(crate) fn started(rules: Rules) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("directory.sock");
    let (told, listens) = std::sync::mpsc::channel();
    let at = path.clone();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = DirectoryServer::listen(at, rules).unwrap();
            told.send(()).unwrap();
            server.serve().await.unwrap();
        });
    });
    listens.recv().unwrap();
    (folder, path)
}

/// A connection to a directory that keeps to no rules.
pub(crate) struct Raw(OwnedFd);

/// The reply that says why something is refused.
pub(crate) const REFUSED: u8 = 1;

/// The reply that says that a visit has arrived.
pub(crate) const VISITING: u8 = 4;

/// The reply that says which client has visited.
pub(crate) const VISITOR: u8 = 5;

impl Raw {
    pub(crate) fn connect(path: &Path) -> Self {
        let socket = socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).unwrap();
        connect(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
        set_socket_timeout(&socket, Timeout::Recv, Some(HELD_UP)).unwrap();
        Self(socket)
    }

    pub(crate) fn send(&self, bytes: &[u8], files: &[impl AsFd]) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(253))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let files: Vec<_> = files.iter().map(AsFd::as_fd).collect();
        if !files.is_empty() {
            assert!(ancillary.push(SendAncillaryMessage::ScmRights(&files)));
        }
        sendmsg(&self.0, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// The next packet. Empty if the directory has hung up.
    pub(crate) fn recv(&self) -> (Vec<u8>, Vec<OwnedFd>) {
        let mut bytes = vec![0; 8192];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received =
            recvmsg(&self.0, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, RecvFlags::CMSG_CLOEXEC);
        let read = match received {
            Ok(received) => received.bytes,
            Err(Errno::CONNRESET) => 0,
            Err(error) => panic!("nothing comes, and no end: {error}"),
        };
        bytes.truncate(read);
        let files = ancillary.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(files) => Some(files),
            _ => None,
        });
        let files = files.flatten().collect();
        (bytes, files)
    }

    /// Ends the connection, and whatever waits for it.
    pub(crate) fn hang_up(&self) {
        shutdown(&self.0, Shutdown::Both).unwrap();
    }

    /// Registers a name.
    pub(crate) fn register(path: &Path, name: &str) -> Self {
        let socket = Self::connect(path);
        socket.send(&[&[0], &text(name)[..], &[0]].concat(), NONE).unwrap();
        assert_eq!(socket.recv().0.first(), Some(&0), "not registered");
        socket
    }

    /// Visits a service by its name.
    pub(crate) fn visit(&self, name: &str, token: [u8; 32], files: &[impl AsFd]) -> io::Result<()> {
        self.send(&[&[2, 0], &text(name)[..], &token].concat(), files)
    }
}

pub(crate) const NONE: &[OwnedFd] = &[];

fn text(text: &str) -> Vec<u8> {
    let len = u8::try_from(text.len()).unwrap();
    assert!(len < 128, "a length of one byte");
    [&[len], text.as_bytes()].concat()
}
