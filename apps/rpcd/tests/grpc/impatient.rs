//! Strangers over HTTP/2 who cancel many calls, or call a service without a server, and what that means to the other calls of their connection.

use crate::hotel::{Running, serve};
use crate::stranger::Stranger;
use bertha_managed::{Order, Service};
use bertha_rpcd::{Peers, Settings};
use std::collections::HashSet;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tonic::Code;

const SOON: Duration = Duration::from_secs(20);

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Kinds of frames.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// The reason of a call that its caller gives up.
const CANCEL: u32 = 8;

fn listening(threads: usize) -> Running {
    let peers = Peers { grpc: Some("127.0.0.1:0".parse().unwrap()), ..Peers::default() };
    Running::threaded_with(threads, Settings { peers, ..Settings::default() })
}

fn frame(kind: u8, flags: u8, stream: u32, content: &[u8]) -> Vec<u8> {
    let length = &(content.len() as u32).to_be_bytes()[1..];
    [length, &[kind, flags], &stream.to_be_bytes(), content].concat()
}

/// Returns the headers of a call of `Ping`, in HPACK.
fn headers() -> Vec<u8> {
    let (path, content) = ("/hotel.Hotel/Ping", "application/grpc");
    // POST, http, a path, and a content type, of which the table has the names.
    let named = |name: &[u8], value: &str| [name, &[value.len() as u8], value.as_bytes()].concat();
    [&[0x83, 0x86][..], &named(&[0x04], path), &named(&[0x0f, 0x10], content)].concat()
}

/// Calls, of which each tenth is meant, and the others are cancelled at once.
async fn cancels_most(threads: usize, calls: u32) {
    let daemon = listening(threads);
    let _serving = serve(daemon.server().await);
    let addr = daemon.grpc_addr.as_ref().unwrap().to_string();
    let (mut from, mut to) = TcpStream::connect(addr).await.unwrap().into_split();
    let saying = tokio::spawn(async move {
        let mut bytes = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
        for call in 0..calls {
            let stream = 2 * call + 1;
            bytes.extend(frame(HEADERS, END_HEADERS, stream, &headers()));
            bytes.extend(match call % 10 {
                0 => frame(DATA, END_STREAM, stream, &[0; 5]),
                _ => frame(RST_STREAM, 0, stream, &CANCEL.to_be_bytes()),
            });
        }
        to.write_all(&bytes).await.unwrap();
        to
    });
    let mut answered = HashSet::new();
    while answered.len() < calls as usize / 10 {
        let mut head = [0; 9];
        timeout(SOON, from.read_exact(&mut head)).await.unwrap().unwrap();
        let mut content = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        from.read_exact(&mut content).await.unwrap();
        let (kind, flags, stream) = (head[3], head[4], u32::from_be_bytes(head[5..].try_into().unwrap()));
        assert_ne!(kind, GOAWAY, "{} calls are answered: {}", answered.len(), content.escape_ascii());
        let is_meant = (stream / 2).is_multiple_of(10);
        assert!(!(kind == RST_STREAM && is_meant), "the call {stream} is reset");
        if kind == HEADERS && flags & END_STREAM != 0 && is_meant {
            answered.insert(stream);
        }
    }
    drop(saying.await.unwrap());
}

/// A caller that gives up many calls, as one behind a proxy does, costs the other calls of the connection nothing.
#[tokio::test]
async fn calls_beside_many_that_are_cancelled_are_answered() {
    cancels_most(1, 6_000).await;
    cancels_most(3, 6_000).await;
}

/// The server of a service may have gone for a moment, and those who go on calling it have one connection for all services.
#[tokio::test]
async fn calls_of_a_service_without_a_server_leave_the_connection() {
    let daemon = listening(1);
    let descriptors = crate::hotel::Hotel::descriptors();
    Order::Bind { bytes: descriptors.len() as u32 }.give_with(&daemon.path, descriptors).await.unwrap();
    let stranger = Stranger::connect(&daemon.grpc_addr.as_ref().unwrap().to_string()).await;
    for _ in 0..30 {
        let mut calls = JoinSet::new();
        for _ in 0..100 {
            let stranger = stranger.clone();
            calls.spawn(async move { stranger.reserve("ada", 1, &[]).await.unwrap_err() });
        }
        for failure in calls.join_all().await {
            assert_eq!(failure.code(), Code::Unavailable, "{failure}");
            assert_eq!(failure.message(), "no application serves hotel.Hotel");
        }
    }
}
