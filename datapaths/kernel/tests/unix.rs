//! Unix sockets after crashes, and with peers that attach descriptors.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests panic to fail, and print what they skip")]

use bertha_core::{Addr, Buf, Connection, Datapath, ErrorKind, Listener, PeerIdentity};
use bertha_datapath_kernel::{Unix, UnixStream};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketType, bind,
    connect, sendmsg, socket,
};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("bertha-unix-{name}-{}.sock", std::process::id()))
}

/// A socket that a process has left, which was killed.
fn leave(path: &PathBuf, kind: SocketType) {
    let socket = socket(AddressFamily::UNIX, kind, None).unwrap();
    bind(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
}

async fn starts_again<D: Datapath>(datapath: D, name: &str, kind: SocketType) {
    let path = path(name);
    let on = Addr::Unix(path.clone());
    leave(&path, kind);
    let listener = datapath.listen(on.clone()).await.unwrap();
    let error = datapath.listen(on.clone()).await.map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrInUse, "{error}");
    // The look at the live server was no client, and its path is as it was.
    let client = datapath.connect(on.clone()).await.unwrap();
    client.send(Buf::copy_of(b"hello", 0).unwrap()).await.unwrap();
    let server = listener.accept().await.unwrap();
    assert_eq!(&server.recv().await.unwrap()[..], b"hello");
    drop((client, server, listener));
    assert!(!path.exists(), "the socket's file is left");
    std::fs::write(&path, "data").unwrap();
    let error = datapath.listen(on).await.map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrInUse, "{error}");
    std::fs::remove_file(&path).unwrap();
}

#[tokio::test]
async fn a_server_that_was_killed_starts_again() {
    starts_again(Unix::default(), "datagrams", SocketType::DGRAM).await;
    starts_again(UnixStream::new(), "streams", SocketType::STREAM).await;
}

#[tokio::test]
async fn the_kernel_vouches_for_the_peer_of_a_stream() {
    let path = path("credentials");
    let listener = UnixStream::new().listen(Addr::Unix(path.clone())).await.unwrap();
    let client = UnixStream::new().connect(Addr::Unix(path)).await.unwrap();
    let server = listener.accept().await.unwrap();
    for connection in [&client, &server] {
        let peer = connection.base().peer_credentials().unwrap();
        assert_eq!(peer.user, rustix::process::geteuid().as_raw());
        assert_eq!(peer.group, rustix::process::getegid().as_raw());
        assert_eq!(peer.process, Some(std::process::id()));
        let owner = PeerIdentity::Process { user: peer.user, group: peer.group };
        assert_eq!(connection.peer_identity(), Some(owner));
    }
}

fn attach(socket: &OwnedFd) -> Result<usize, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let files = [socket.as_fd()];
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(&files)));
    sendmsg(socket, &[IoSlice::new(b"hello")], &mut ancillary, SendFlags::NOSIGNAL)
}

#[tokio::test]
async fn no_descriptors_are_taken() {
    let is_known = {
        let (one, other) = std::os::unix::net::UnixStream::pair().unwrap();
        bertha_runtime::tokio::descriptors::refuse(&other).unwrap();
        attach(&one.into()) == Err(Errno::PERM)
    };
    if !is_known {
        println!("skipped: this system has no SO_PASSRIGHTS");
        return;
    }
    let connected = |path: &PathBuf, kind| {
        let socket = socket(AddressFamily::UNIX, kind, None).unwrap();
        connect(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
        socket
    };
    let datagrams = path("no-descriptors");
    let _listener = Unix::default().listen(Addr::Unix(datagrams.clone())).await.unwrap();
    assert_eq!(attach(&connected(&datagrams, SocketType::DGRAM)), Err(Errno::PERM));
    let streams = path("no-descriptors-of-streams");
    let listener = UnixStream::new().listen(Addr::Unix(streams.clone())).await.unwrap();
    let client = connected(&streams, SocketType::STREAM);
    assert_eq!(attach(&client), Err(Errno::PERM), "before it is accepted");
    let _accepted = listener.accept().await.unwrap();
    assert_eq!(attach(&client), Err(Errno::PERM), "and after");
    // A client takes none of its server.
    let listener = std::os::unix::net::UnixListener::bind(path("server")).unwrap();
    let _client = UnixStream::new().connect(Addr::Unix(path("server"))).await.unwrap();
    let (server, _) = listener.accept().unwrap();
    assert_eq!(attach(&server.into()), Err(Errno::PERM));
    std::fs::remove_file(path("server")).unwrap();
}
