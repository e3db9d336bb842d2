//! Bytes that no well-meaning client sends.

use crate::Store;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

/// Returns all bytes that come back until the store ends the connection.
fn answer(store: &Store, pieces: &[&[u8]]) -> Vec<u8> {
    let mut stream = TcpStream::connect(store.tcp()).unwrap();
    stream.set_nodelay(true).unwrap();
    for piece in pieces {
        // The store may have ended the connection already.
        let _ = stream.write_all(piece);
    }
    let _ = stream.shutdown(Shutdown::Write);
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    all
}

#[test]
fn a_half_close_is_answered_to_the_last_command() {
    let store = Store::start(1);
    let expected = b"+PONG\r\n+OK\r\n$1\r\n1\r\n";
    assert_eq!(answer(&store, &[b"PING\r\nSET a 1\r\nGET a\r\n"]), expected);
    assert_eq!(answer(&store, &[b"PI", b"NG\r\nSET a", b" 1\r\n", b"GET a\r", b"\n"]), expected);
}

#[test]
fn quitting_is_answered_and_nothing_behind_it_is() {
    let store = Store::start(1);
    assert_eq!(answer(&store, &[b"QUIT\r\nPING\r\n"]), b"+OK\r\n");
}

#[test]
fn what_is_no_command_is_named_and_ends_the_connection_alone() {
    let store = Store::start(2);
    let told = answer(&store, &[b"PING\r\n*1\r\n:1\r\nPING\r\n"]);
    assert_eq!(told, b"+PONG\r\n-ERR Protocol error: expected '$', got ':'\r\n");
    assert_eq!(answer(&store, &[b"PING\r\n"]), b"+PONG\r\n");
}

#[test]
fn many_large_replies_to_a_client_that_reads_late_all_arrive() {
    let store = Store::start(1);
    let mut stream = TcpStream::connect(store.tcp()).unwrap();
    let value = vec![b'x'; 1 << 20];
    write!(stream, "*3\r\n$3\r\nSET\r\n$1\r\na\r\n${}\r\n", value.len()).unwrap();
    stream.write_all(&value).unwrap();
    stream.write_all(b"\r\n").unwrap();
    stream.write_all(&b"GET a\r\n".repeat(100)).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    assert_eq!(all.len(), b"+OK\r\n".len() + 100 * (b"$1048576\r\n\r\n".len() + value.len()));
}

#[test]
fn stopping_does_not_wait_for_a_client_that_reads_nothing() {
    let store = Store::start(1);
    let mut stream = TcpStream::connect(store.tcp()).unwrap();
    let value = vec![b'x'; 16 << 20];
    write!(stream, "*3\r\n$3\r\nSET\r\n$1\r\na\r\n${}\r\n", value.len()).unwrap();
    stream.write_all(&value).unwrap();
    stream.write_all(b"\r\nGET a\r\n").unwrap();
    let mut begun = [0; 10];
    stream.read_exact(&mut begun).unwrap();
    assert_eq!(&begun, b"+OK\r\n$1677");
    store.server.stop().unwrap();
}
