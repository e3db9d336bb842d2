//! Messages arrive.

use super::Messages;
use super::timeout::succeeds;
use bertha_core::{Base, Connection};

/// `send`: "The future is ready once the datapath has taken the message." `recv`: "Waits for the next
/// message." Messages arrive as they were sent, in both directions.
pub async fn messages_arrive_both_ways<A, B, M>(a: &A, b: &B, messages: &M)
where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    for number in 0..100 {
        succeeds(a, "send", a.send(messages.make(a, number))).await;
        assert_eq!(receive(b, messages).await, number);
        succeeds(b, "send back", b.send(messages.make(b, number))).await;
        assert_eq!(receive(a, messages).await, number);
    }
}

/// Returns the number of the next message.
pub(super) async fn receive<C: Connection, M: Messages<C::Data>>(connection: &C, messages: &M) -> u64 {
    messages.number(&succeeds(connection, "recv", connection.recv()).await)
}

/// Sends a message each way, to check that the connection still works.
pub(super) async fn still_works<A, B, M>(a: &A, b: &B, messages: &M)
where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    succeeds(a, "send", a.send(messages.make(a, 7001))).await;
    assert_eq!(receive(b, messages).await, 7001);
    succeeds(b, "send back", b.send(messages.make(b, 7002))).await;
    assert_eq!(receive(a, messages).await, 7002);
}

/// Checks that `numbers` are the first `count`, each once, and in order if the connection promises order.
pub(super) fn complete<C: Connection>(connection: &C, mut numbers: Vec<u64>, count: u64) {
    if !connection.base().properties().ordered {
        numbers.sort_unstable();
    }
    assert_eq!(numbers, Vec::from_iter(0..count), "not every message arrived once and in its order");
}
