//! Clients as a stream, and the end of accepting.

use crate::byte_streams::place::loopback;
use bertha_chunnels::Nothing;
use bertha_core::{Buf, Connection};
use bertha_datapath_kernel::{Tcp, Udp};
use bertha_negotiation::{Negotiate, Settings};
use futures_util::{StreamExt, poll};
use std::pin::pin;
use std::time::Duration;

#[tokio::test]
async fn clients_come_as_a_stream() {
    let incoming = Nothing.listen(Udp::new(), loopback()).await.unwrap();
    let to = incoming.local_addr();
    let accepting = tokio::spawn(incoming.into_stream().take(2).collect::<Vec<_>>());
    let first = Nothing.connect(Udp::new(), to.clone()).await.unwrap();
    let second = Nothing.connect(Udp::new(), to).await.unwrap();
    for client in [&first, &second] {
        client.send(Buf::copy_of(b"hello", 16).unwrap()).await.unwrap();
    }
    for client in accepting.await.unwrap() {
        assert_eq!(&*client.recv().await.unwrap(), b"hello");
    }
}

/// A client that has begun before the close is served; a later client finds no listener.
#[tokio::test]
async fn a_closed_listener_gives_those_under_way_and_then_nothing() {
    let mut incoming = Nothing.listen(Tcp::new(), loopback()).await.unwrap();
    let to = incoming.local_addr();
    let begun = tokio::spawn(Nothing.connect(Tcp::new(), to.clone()).into_future());
    // The system has accepted the client, and then the listener; the client's handshake is under way or over.
    let mut first = None;
    while first.is_none() {
        if let std::task::Poll::Ready(client) = poll!(pin!(incoming.next_or_refusal())) {
            first = client;
        }
        tokio::task::yield_now().await;
    }
    incoming.close();
    let mut patience = Settings::default();
    patience.handshake_timeout = Duration::from_millis(300);
    let late = tokio::spawn(Nothing.connect(Tcp::new(), to).settings(patience).into_future());
    assert!(incoming.next().await.is_none());
    assert!(incoming.next().await.is_none());
    late.await.unwrap().expect_err("a client was served after the close");
    let (client, server) = (begun.await.unwrap().unwrap(), first.unwrap().unwrap());
    client.send(Buf::copy_of(b"still here", 16).unwrap()).await.unwrap();
    assert_eq!(&*server.recv().await.unwrap(), b"still here");
}
