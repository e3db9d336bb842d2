//! The end of a connection.

use super::Messages;
use super::an_end_is_final;
use super::delivery::receive;
use super::timeout::{soon, succeeds};
use bertha_core::{Connection, ErrorKind};
use futures_util::future::{join, join3};
use futures_util::poll;
use std::pin::pin;

/// The number of messages before a close.
const COUNT: u64 = 100;

/// `close`: "Later calls fail with `Closed`, on this end at once". Waiting calls fail too.
pub async fn close_wakes_who_waits<A, B, M>(a: &A, _b: &B, _messages: &M)
where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    let mut burst = Vec::new();
    let mut recv = pin!(a.recv());
    let mut recv_batch = pin!(a.recv_batch(&mut burst, 10));
    assert!(poll!(&mut recv).is_pending() && poll!(&mut recv_batch).is_pending());
    let close = succeeds(a, "close", a.close());
    let both =
        soon(a, "the recvs that waited when the connection was closed", join3(recv, recv_batch, close));
    let (recv, recv_batch, ()) = both.await;
    closed(recv.err());
    closed(recv_batch.err());
}

/// `close`: "Later calls fail with `Closed`, on this end at once".
pub async fn calls_after_close_fail<A, B, M>(a: &A, b: &B, messages: &M)
where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    // Messages that were not received before the close are lost.
    succeeds(b, "send", b.send(messages.make(b, 0))).await;
    succeeds(a, "send", a.send(messages.make(a, 1))).await;
    assert_eq!(receive(b, messages).await, 1);
    succeeds(a, "close", a.close()).await;
    let mut none = Vec::new();
    closed(soon(a, "send after close", a.send(messages.make(a, 2))).await.err());
    closed(soon(a, "recv after close", a.recv()).await.err());
    closed(soon(a, "recv_batch after close", a.recv_batch(&mut none, 10)).await.err());
    let burst = [messages.make(a, 3)].into_iter();
    closed(soon(a, "send_batch after close", a.send_batch(burst)).await.err());
    assert!(none.is_empty());
}

/// `close`: "Sends the messages that layers still hold back, notifies the peer, and closes. Later calls fail
/// with `Closed` [...] at the peer once the notification reaches it." Bare datagrams have no notification,
/// and skip the check.
pub async fn the_peer_hears_of_a_close<A, B, M>(a: &A, b: &B, messages: &M)
where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    for number in 0..10 {
        succeeds(a, "send", a.send(messages.make(a, number))).await;
    }
    succeeds(a, "close", a.close()).await;
    for number in 0..10 {
        assert_eq!(receive(b, messages).await, number, "what was sent before the close");
    }
    closed(soon(b, "recv after the peer closed", b.recv()).await.err());
    // A stream may still accept the first send after that, until the peer's system answers it.
    let send = soon(b, "send after the peer closed", async {
        loop {
            if let Err(error) = b.send(messages.make(b, 0)).await {
                break error;
            }
        }
    });
    closed(Some(send.await));
}

/// "`Closed` [...] in order": an end that is dropped without `close` is `Reset` at the peer, or `TimedOut`,
/// behind the messages that have arrived. The check is for connections whose ends notify each other.
pub async fn a_dropped_end_is_cut_at_the_peer<A, B, M>(a: A, b: &B, messages: &M)
where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    // The messages do not fit into one packet: some messages may not have left when the end is dropped.
    for number in 0..10 {
        succeeds(&a, "send", a.send(messages.make(&a, number))).await;
    }
    drop(a);
    let end = an_end_is_final(b, messages).await;
    let is_cut = matches!(end.kind(), ErrorKind::Reset | ErrorKind::TimedOut);
    assert!(is_cut, "a peer that was dropped without a close is told as `{end}`");
}

/// `close` fails only if messages may be missing. It succeeds if the peer has received all messages, and
/// drops its end as soon as it hears of the close. The check is for connections that lose nothing.
pub async fn a_close_succeeds_once_all_has_arrived<A, B, M>(a: &A, b: B, messages: &M)
where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    let sending = async {
        for number in 0..COUNT {
            succeeds(a, "send", a.send(messages.make(a, number))).await;
        }
        a.close().await
    };
    let receiving = async {
        for number in 0..COUNT {
            assert_eq!(receive(&b, messages).await, number);
        }
        closed(soon(&b, "recv after the peer closed", b.recv()).await.err());
        drop(b);
    };
    let (sent, ()) =
        soon(a, "the close of an end whose messages have all arrived", join(sending, receiving)).await;
    sent.unwrap_or_else(|error| panic!("all has arrived, and close says: {error}"));
}

fn closed(error: Option<bertha_core::Error>) {
    match error {
        Some(error) => {
            assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
            assert!(error.ends_connection(), "`{error}` does not end the connection");
        }
        None => panic!("a call on a closed connection succeeded"),
    }
}
