//! Unix sockets after crashes, and with peers that attach descriptors.

use bertha_core::{Addr, Base, Buf, Connection, Datapath, ErrorKind, Listener, PeerIdentity};
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

/// The address at which two processes send, one after the other, and their server's.
const SENDER: &str = "BERTHA_TEST_SENDER";
const SERVER: &str = "BERTHA_TEST_SERVER";

/// Sends from the address that another process of the test has had.
#[test]
#[ignore = "runs as the child of `a_connection_of_datagrams_is_of_one_process`"]
fn another_process_sends() {
    let from = std::os::unix::net::UnixDatagram::bind(std::env::var_os(SENDER).unwrap()).unwrap();
    from.send_to(b"of another", std::env::var_os(SERVER).unwrap()).unwrap();
}

#[tokio::test]
async fn a_connection_of_datagrams_is_of_one_process() {
    let (server, sender) = (path("vouched"), path("vouched-sender"));
    let listener = Unix::new().credentials(true).listen(Addr::Unix(server.clone())).await.unwrap();
    let from = std::os::unix::net::UnixDatagram::bind(&sender).unwrap();
    from.send_to(b"of this", &server).unwrap();
    let this = listener.accept().await.unwrap();
    let peer = this.base().peer_credentials().unwrap();
    assert_eq!(peer.user, rustix::process::getuid().as_raw());
    assert_eq!(peer.group, rustix::process::getgid().as_raw());
    assert_eq!(peer.process, Some(std::process::id()));

    std::fs::remove_file(&sender).unwrap();
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "unix::another_process_sends", "--ignored"])
        .env(SENDER, &sender)
        .env(SERVER, &server)
        .output()
        .unwrap();
    assert!(child.status.success(), "{child:?}");
    // It has the same address, and is a peer of its own.
    let other = listener.accept().await.unwrap();
    let process = other.base().peer_credentials().unwrap().process;
    assert!(process.is_some() && process != Some(std::process::id()), "{process:?}");
    assert_eq!(other.base().peer_addr(), this.base().peer_addr());
    assert_eq!(&other.recv().await.unwrap()[..], b"of another");
    assert_eq!(&this.recv().await.unwrap()[..], b"of this");

    // Clients, which have names of the kernel's, are vouched for and answered alike.
    let client = Unix::new().connect(Addr::Unix(server)).await.unwrap();
    client.send(Buf::copy_of(b"hello", 0).unwrap()).await.unwrap();
    let named = listener.accept().await.unwrap();
    assert_eq!(named.base().peer_credentials(), Some(peer));
    named.send(Buf::copy_of(b"welcome", 0).unwrap()).await.unwrap();
    assert_eq!(&client.recv().await.unwrap()[..], b"welcome");
    let unasked = path("unasked");
    let listener = Unix::new().listen(Addr::Unix(unasked.clone())).await.unwrap();
    let client = Unix::new().connect(Addr::Unix(unasked)).await.unwrap();
    client.send(Buf::copy_of(b"hello", 0).unwrap()).await.unwrap();
    assert_eq!(listener.accept().await.unwrap().base().peer_credentials(), None);
    std::fs::remove_file(sender).unwrap();
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
