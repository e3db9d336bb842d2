//! Visitors of the daemon that are not what it expects.

use crate::machine::Machine;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use std::fs::File;
use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Says hello with a descriptor.
pub(crate) fn hand_over(machine: &Machine, descriptor: BorrowedFd<'_>) -> UnixStream {
    say(machine, b"bersock\x01", &[descriptor])
}

/// Sends the first message of a visit, with some descriptors.
pub(crate) fn say(machine: &Machine, words: &[u8], files: &[BorrowedFd<'_>]) -> UnixStream {
    let daemon = UnixStream::connect(machine.socket()).unwrap();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(files)));
    sendmsg(&daemon, &[IoSlice::new(words)], &mut ancillary, SendFlags::empty()).unwrap();
    daemon
}

/// Returns the code of the answer, and the memory.
pub(crate) fn answer(daemon: &UnixStream) -> (u8, Option<File>) {
    let (bytes, file) = hear::<16>(daemon);
    (bytes[0], file.map(File::from))
}

/// Returns the bytes of an answer, and the descriptor that comes with it.
pub(crate) fn hear<const BYTES: usize>(daemon: &UnixStream) -> ([u8; BYTES], Option<OwnedFd>) {
    let mut bytes = [0; BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    recvmsg(daemon, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, RecvFlags::empty()).unwrap();
    let file = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    (bytes, file)
}

pub(crate) fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (client, listener.accept().unwrap().0)
}

#[test]
fn ends_of_one_connection_get_one_memory_and_others_none() {
    let machine = Machine::start();
    let ((client, server), (stranger, _other)) = (connection(), connection());
    let first = hand_over(&machine, client.as_fd());
    let alone = hand_over(&machine, stranger.as_fd());
    let second = hand_over(&machine, server.as_fd());
    let ((one, memory), (two, same)) = (answer(&first), answer(&second));
    assert_eq!((one, two), (1, 2));
    memory.unwrap().write_all_at(b"seen", 8192).unwrap();
    let mut seen = [0; 4];
    same.unwrap().read_exact_at(&mut seen, 8192).unwrap();
    assert_eq!(&seen, b"seen");
    alone.set_nonblocking(true).unwrap();
    assert!((&alone).read(&mut [0]).is_err());
}

#[test]
fn a_claim_of_something_else_is_refused() {
    let machine = Machine::start();
    let (unix, _other) = UnixStream::pair().unwrap();
    assert_eq!(answer(&hand_over(&machine, unix.as_fd())).0, 3);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    assert_eq!(answer(&hand_over(&machine, listener.as_fd())).0, 3);
    let mut file = hand_over(&machine, File::open("/proc/self/exe").unwrap().as_fd());
    assert_eq!(file.read(&mut [0; 16]).unwrap(), 0);
}

#[test]
fn silent_visitors_hold_nobody_up() {
    let machine = Machine::start();
    let silent: Vec<_> = (0..300).map(|_| UnixStream::connect(machine.socket()).unwrap()).collect();
    let mut browser = UnixStream::connect(machine.socket()).unwrap();
    browser.write_all(b"POST / HTTP/1.1\r\n\r\n").unwrap();
    let mut bytes = Vec::new();
    let _ = browser.read_to_end(&mut bytes);
    assert_eq!(bytes, b"");
    let (client, server) = connection();
    let (first, second) = (hand_over(&machine, client.as_fd()), hand_over(&machine, server.as_fd()));
    assert_eq!((answer(&first).0, answer(&second).0), (1, 2));
    // Those that say nothing are sent away.
    for mut visitor in silent {
        visitor.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        assert!(matches!(visitor.read(&mut [0]), Ok(0)));
    }
}
