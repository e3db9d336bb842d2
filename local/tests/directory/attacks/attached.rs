//! Descriptors whose last close waits, attached to whatever is sent.

use crate::attacks::packets::{HELD_UP, PATIENCE, Raw, started};
use bertha_lingering::lingering;
use bertha_local::Directory;
use bertha_local::directory::Rules;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use tokio::time::timeout;

/// Drops what may have the last reference, whose close then waits.
fn let_go(socket: impl Send + 'static) {
    std::thread::spawn(move || drop(socket));
}

/// The directory answers an honest client.
async fn answers(path: &Path) {
    let client = Directory::at(path).patience(PATIENCE);
    let answer = timeout(HELD_UP, client.lookup("anything")).await.expect("the directory is held up");
    assert_eq!(answer.unwrap(), None);
}

#[tokio::test]
async fn a_close_that_waits_holds_no_directory_up() {
    let (_folder, path) = started(Rules::new());
    // With a visit to nobody; with a packet that is no request; in a socket that is handed on; and unread, at the end of a connection.
    let attacks: [fn(&Raw, &TcpStream); 4] = [
        |raw, socket| raw.visit("nobody", [1; 32], &[socket]).unwrap(),
        |raw, socket| raw.send(&[200; 10], &vec![socket; 253]).unwrap(),
        |raw, socket| {
            let (own, others) = UnixStream::pair().unwrap();
            attach(&own, socket);
            raw.visit("nobody", [2; 32], &[others]).unwrap();
        },
        |raw, socket| {
            raw.send(&[200; 10], &[socket]).unwrap();
            // The directory may have hung up after the first.
            let _sent = raw.send(&[200; 10], &[socket]);
        },
    ];
    for attack in attacks {
        let (socket, _receiver) = lingering();
        let raw = Raw::connect(&path);
        attack(&raw, &socket);
        // Now the directory has the last references, unless it has closed its own already.
        let_go(socket);
        drop(raw);
        answers(&path).await;
    }
}

/// A message with a descriptor that nobody reads.
fn attach(socket: &UnixStream, attached: impl AsFd) {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let files = [attached.as_fd()];
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(&files)));
    sendmsg(socket, &[std::io::IoSlice::new(b"x")], &mut ancillary, SendFlags::NOSIGNAL).unwrap();
}

/// A service serves on beside visitors for whom it never asks.
#[tokio::test]
async fn a_close_that_waits_holds_no_service_up() {
    let (_folder, path) = started(Rules::new());
    let service = Directory::at(&path);
    let registration = service.try_register("cart", &[]).await.unwrap();
    let raw = Raw::connect(&path);
    for number in 0..3 {
        let (socket, receiver) = lingering();
        let (own, others) = UnixStream::pair().unwrap();
        attach(&own, &socket);
        raw.visit("cart", [number; 32], &[others]).unwrap();
        assert_eq!(raw.recv().0.first(), Some(&4), "the visit does not arrive");
        let_go(socket);
        // The receiver lives on, so that a close waits.
        std::mem::forget(receiver);
    }
    // On a thread of its own, since a close that waits would hold this runtime up.
    let (told, ended) = std::sync::mpsc::channel();
    let runtime = tokio::runtime::Handle::current();
    std::thread::spawn(move || {
        let _entered = runtime.enter();
        drop((registration, service));
        told.send(()).unwrap();
    });
    let ended = tokio::task::spawn_blocking(move || ended.recv_timeout(HELD_UP)).await.unwrap();
    ended.expect("the service is held up");
}
