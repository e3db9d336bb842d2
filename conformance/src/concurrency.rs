//! Several calls at once.

use super::Messages;
use super::delivery::{complete, receive};
use super::timeout::{soon, succeeds};
use bertha_core::Connection;
use futures_util::future::join;
use futures_util::poll;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::pin::pin;

/// "`send` and `recv` take `&self`, and any number of both may run at once, from one task or several."
pub async fn sends_go_on_while_a_recv_waits<A, B, M>(a: &A, b: &B, messages: &M)
where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    let mut waiting = pin!(a.recv());
    assert!(poll!(&mut waiting).is_pending(), "a message that nobody sent");
    for number in 0..10 {
        succeeds(a, "send while a recv waits", a.send(messages.make(a, number))).await;
        assert_eq!(receive(b, messages).await, number);
    }
    succeeds(b, "send back", b.send(messages.make(b, 10))).await;
    assert_eq!(messages.number(&succeeds(a, "the recv that waited", waiting).await), 10);
}

/// "Each message goes to exactly one `recv`."
pub async fn each_message_goes_to_one_receiver<A, B, M>(a: &A, b: &B, messages: &M)
where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    const COUNT: u64 = 30;
    let send = async {
        for number in 0..COUNT {
            succeeds(a, "send", a.send(messages.make(a, number))).await;
        }
    };
    // Each future has a waker of its own, as in as many tasks.
    let mut receivers: FuturesUnordered<_> = (0..COUNT).map(|_| b.recv()).collect();
    let gather = soon(b, "as many recvs as messages", async {
        let mut numbers = Vec::new();
        while let Some(message) = receivers.next().await {
            numbers.push(messages.number(&message.unwrap()));
        }
        numbers
    });
    let (mut numbers, ()) = join(gather, send).await;
    numbers.sort_unstable();
    complete(b, numbers, COUNT);
}

/// "`send` and `recv` take `&self`, and any number of both may run at once": several calls of `send` lose no
/// message.
pub async fn several_senders_lose_nothing<A, B, M>(a: &A, b: &B, messages: &M)
where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    const EACH: u64 = 40;
    let send = async |first: u64| {
        for number in first..first + EACH {
            succeeds(a, "send", a.send(messages.make(a, number))).await;
        }
    };
    let receive = async {
        let mut numbers = Vec::new();
        for _ in 0..3 * EACH {
            numbers.push(receive(b, messages).await);
        }
        numbers
    };
    let senders: FuturesUnordered<_> = [0, EACH, 2 * EACH].into_iter().map(&send).collect();
    let (mut numbers, ()) = join(receive, senders.collect()).await;
    numbers.sort_unstable();
    complete(b, numbers, 3 * EACH);
}
