//! Descriptors whose last close waits, attached to whatever is sent.

use bertha_core::{Addr, Datapath, Listener};
use bertha_datapath_shm::{Shm, Users};
use bertha_lingering::lingering;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;
use tokio::time::timeout;

/// The time after which an attack has succeeded. Far above what a busy machine needs.
const HELD_UP: Duration = Duration::from_secs(30);

/// A listener on a runtime and a thread of its own.
fn listening(name: &str, shm: Shm) -> Addr {
    let path = std::env::temp_dir().join(format!("bertha-shm-{name}-{}.sock", std::process::id()));
    let on = Addr::Unix(path);
    let at = on.clone();
    let (told, listens) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = shm.listen(at).await.unwrap();
            told.send(()).unwrap();
            let mut accepted = Vec::new();
            while let Ok(connection) = listener.accept().await {
                accepted.push(connection);
            }
        });
    });
    listens.recv().unwrap();
    on
}

/// Attacks a listener, and returns the ends that keep the closes waiting.
fn attack(on: &Addr) -> Vec<TcpStream> {
    let path = on.unix("test").unwrap();
    let offer = *b"bershm\0\x02\0\0\x01\0\0\0\0\0";
    let attacks = [([0; 16], 1), (offer, 1), (offer, 3)];
    let attacked = attacks.into_iter().flat_map(|(bytes, count)| {
        let (sockets, receivers): (Vec<_>, Vec<_>) = (0..count).map(|_| lingering()).unzip();
        let socket = UnixStream::connect(path).unwrap();
        for _ in 0..2 {
            send(&socket, &bytes, &sockets);
        }
        // The listener may have closed its own references already, and then the close here waits.
        std::thread::spawn(move || drop(sockets));
        receivers
    });
    attacked.collect()
}

fn send(socket: &UnixStream, bytes: &[u8], files: &[TcpStream]) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let files: Vec<_> = files.iter().map(AsFd::as_fd).collect();
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(&files)));
    // The listener may have hung up, or take no more.
    let _sent = sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL);
}

#[tokio::test]
async fn a_close_that_waits_holds_no_listener_up() {
    let on = listening("attached", Shm::new());
    let receivers = attack(&on);
    let connected = timeout(HELD_UP, Shm::new().connect(on)).await.expect("the listener is held up");
    connected.unwrap();
    drop(receivers);
}

/// Nothing of a stranger is read, and its socket is closed with what it has attached.
#[tokio::test]
async fn nor_does_that_of_a_stranger() {
    let nobody = Users::Only(vec![u32::MAX - 1]);
    let on = listening("attached-stranger", Shm::new().users(nobody));
    let receivers = attack(&on);
    let refused = timeout(HELD_UP, Shm::new().connect(on)).await.expect("the listener is held up");
    assert_eq!(refused.map(drop).unwrap_err().kind(), bertha_core::ErrorKind::Unauthenticated);
    drop(receivers);
}
