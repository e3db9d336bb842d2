//! Messages whose parts lie apart, over TCP and Unix sockets.
#![allow(unsafe_code)]

use bertha_core::buf::SharedBytes;
use bertha_core::{Buf, Connection, Datapath, Gather, Gathered, Listener, Statistics};
use bertha_datapath_kernel::{StreamStatistics, Tcp, TcpConnection, TcpListener};
use futures_util::FutureExt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

const SOON: Duration = Duration::from_secs(20);

fn content(number: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (number * 31 + at) as u8).collect()
}

fn shared(bytes: Vec<u8>) -> SharedBytes {
    let bytes = Arc::new(bytes);
    // SAFETY: the vector stays as it is until the last clone is dropped.
    unsafe { SharedBytes::new(bytes.as_ptr(), bytes.len(), bytes.clone()) }
}

/// Makes a message with parts of these lengths, and returns its bytes as well.
fn message(lengths: &[usize]) -> (Gathered, Vec<u8>) {
    let parts: Vec<_> = lengths.iter().enumerate().map(|(number, len)| content(number, *len)).collect();
    let first = Buf::copy_of(b"first", lengths.len() % 8).unwrap();
    let whole = [b"first", &parts.concat()[..]].concat();
    (Gathered::new(first, parts.into_iter().map(shared).collect()), whole)
}

async fn pair() -> (TcpListener, TcpConnection, TcpConnection) {
    let tcp = Tcp::new();
    let listener = tcp.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let client = tcp.connect(listener.local_addr()).await.unwrap();
    client.send(Buf::copy_of(b"hello", 0).unwrap()).await.unwrap();
    let server = listener.accept().await.unwrap();
    assert_eq!(&*server.recv().await.unwrap(), b"hello");
    (listener, client, server)
}

fn writes(connection: &TcpConnection) -> u64 {
    let mut statistics = Statistics::default();
    connection.observe(&mut statistics);
    statistics.get::<StreamStatistics>().unwrap().writes
}

#[tokio::test]
async fn parts_arrive_as_one_message_between_others() {
    let (_listener, client, server) = pair().await;
    let many = vec![100; 3000];
    for lengths in [&[][..], &[1], &[0, 7, 0], &[8192; 4], &[1 << 20, 3, 1 << 20], &many] {
        for at_once in [1, 2, usize::MAX] {
            let (gathered, whole) = message(lengths);
            let sending = async {
                client.send(Buf::copy_of(b"before", 0).unwrap()).await.unwrap();
                client.send_gathered(gathered.at_once(at_once)).await.unwrap();
                client.send(Buf::copy_of(b"behind", 0).unwrap()).await.unwrap();
            };
            let receiving = async {
                assert_eq!(&*server.recv().await.unwrap(), b"before");
                assert!(*server.recv().await.unwrap() == whole[..], "{} parts", lengths.len());
                assert_eq!(&*server.recv().await.unwrap(), b"behind");
            };
            timeout(SOON, async { tokio::join!(sending, receiving) }).await.unwrap();
        }
    }
}

#[tokio::test]
async fn parts_take_as_few_system_calls_as_they_may() {
    let (_listener, client, server) = pair().await;
    for (parts, at_once, calls) in [
        (4, usize::MAX, 1),
        (4, 1, 5),
        (4, 2, 3),
        (1023, usize::MAX, 1),
        (1024, usize::MAX, 2),
        (3000, 4096, 3),
    ] {
        let before = writes(&client);
        client.send_gathered(message(&vec![10; parts]).0.at_once(at_once)).await.unwrap();
        assert_eq!(writes(&client) - before, calls, "{parts} parts, {at_once} at once");
        server.recv().await.unwrap();
    }
}

#[tokio::test]
async fn a_message_that_the_stream_takes_in_part_keeps_its_memory_and_goes_on_without_its_future() {
    let (_listener, client, server) = pair().await;
    let held = Arc::new(());
    let (gathered, whole) = message(&[15 << 20]);
    let sent = client.send_gathered(gathered.holding(held.clone()));
    assert!(sent.now_or_never().is_none(), "the kernel holds no 15 MiB");
    assert_eq!(Arc::strong_count(&held), 2, "the rest is still read");
    // One behind it, whose future is dropped before it begins, was not sent.
    let (other, _) = message(&[100]);
    assert!(client.send_gathered(other.holding(held.clone())).now_or_never().is_none());
    assert_eq!(Arc::strong_count(&held), 2);
    let (drained, received) =
        timeout(SOON, async { tokio::join!(client.drain(), server.recv()) }).await.unwrap();
    drained.unwrap();
    assert!(*received.unwrap() == whole[..]);
    assert_eq!(Arc::strong_count(&held), 1);
    client.send(Buf::copy_of(b"next", 0).unwrap()).await.unwrap();
    assert_eq!(&*server.recv().await.unwrap(), b"next");
}

#[tokio::test]
async fn a_stream_that_ends_within_a_message_lets_go_of_its_memory() {
    let (_listener, client, server) = pair().await;
    let held = Arc::new(());
    let (gathered, _) = message(&[15 << 20]);
    let sent = client.send_gathered(gathered.holding(held.clone()));
    let ended = async {
        tokio::task::yield_now().await;
        drop(server);
    };
    let (sent, ()) = timeout(SOON, async { tokio::join!(sent, ended) }).await.unwrap();
    assert!(sent.unwrap_err().ends_connection());
    drop(client);
    assert_eq!(Arc::strong_count(&held), 1);
}

#[tokio::test]
async fn a_message_that_is_too_large_is_not_begun() {
    let (_listener, client, server) = pair().await;
    let (gathered, _) = message(&[16 << 20]);
    let refused = client.send_gathered(gathered).await.unwrap_err();
    assert_eq!(refused.kind(), bertha_core::ErrorKind::TooLarge);
    client.send(Buf::copy_of(b"next", 0).unwrap()).await.unwrap();
    assert_eq!(&*server.recv().await.unwrap(), b"next");
}
