//! Several messages in a call.

use super::Messages;
use super::delivery::{complete, still_works};
use super::timeout::{soon, succeeds};
use bertha_core::Connection;
use futures_util::future::join;

/// Number of messages in a burst.
const COUNT: u64 = 64;

/// `send_batch`: "Sends a burst." `recv_batch`: "appends all available messages to `into`, at most `limit`,
/// and returns their number."
pub async fn bursts_arrive_whole<A, B, M>(a: &A, b: &B, messages: &M)
where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    let burst = (0..COUNT).map(|number| messages.make(a, number));
    let send = succeeds(a, "send_batch", a.send_batch(burst));
    let (numbers, ()) = join(receive_all(b, messages, COUNT, 1000), send).await;
    complete(b, numbers, COUNT);
    still_works(a, b, messages).await;
}

/// `recv_batch`: "at most `limit`".
pub async fn the_limit_is_respected<A, B, M>(a: &A, b: &B, messages: &M)
where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    for limit in [1, 2, 7, 63] {
        let burst = (0..COUNT).map(|number| messages.make(a, number));
        let send = succeeds(a, "send_batch", a.send_batch(burst));
        let (numbers, ()) = join(receive_all(b, messages, COUNT, limit), send).await;
        complete(b, numbers, COUNT);
    }
}

/// `recv_batch` with a limit of zero: nothing can be appended, so the call waits for nothing, and available
/// messages stay.
pub async fn a_limit_of_zero_returns_at_once<A, B, M>(a: &A, b: &B, messages: &M)
where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    let mut none = Vec::new();
    assert_eq!(succeeds(b, "recv_batch of none", b.recv_batch(&mut none, 0)).await, 0);
    succeeds(a, "send", a.send(messages.make(a, 0))).await;
    assert_eq!(succeeds(b, "recv_batch of none", b.recv_batch(&mut none, 0)).await, 0);
    assert!(none.is_empty(), "a limit of zero, and a message came");
    complete(b, receive_all(b, messages, 1, 10).await, 1);
}

/// `recv_batch`: "It never waits for a burst to fill".
pub async fn a_burst_is_not_waited_for<A, B, M>(a: &A, b: &B, messages: &M)
where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    for number in 0..10 {
        let mut burst = Vec::new();
        let send = succeeds(a, "send", a.send(messages.make(a, number)));
        let recv = soon(b, "recv_batch while one message is there", b.recv_batch(&mut burst, 1000));
        let (count, ()) = join(recv, send).await;
        assert_eq!((count.unwrap(), burst.len()), (1, 1));
        assert_eq!(messages.number(&burst[0]), number);
    }
}

/// `send_batch` of an empty burst is ready at once and sends nothing.
pub async fn an_empty_burst_is_sent_at_once<A, B, M>(a: &A, b: &B, messages: &M)
where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    succeeds(a, "an empty send_batch", a.send_batch(std::iter::empty())).await;
    still_works(a, b, messages).await;
}

/// Receives `count` messages in bursts of at most `limit`, and appends them to a buffer that holds messages
/// already.
pub(super) async fn receive_all<C, M>(connection: &C, messages: &M, count: u64, limit: usize) -> Vec<u64>
where
    C: Connection,
    M: Messages<C::Data>,
{
    let mut received = Vec::new();
    while (received.len() as u64) < count {
        let before = received.len();
        let got = succeeds(connection, "recv_batch", connection.recv_batch(&mut received, limit)).await;
        assert_eq!(received.len(), before + got, "recv_batch appends something else than it says");
        assert!((1..=limit).contains(&got), "recv_batch with a limit of {limit} returned {got}");
    }
    received.iter().map(|message| messages.number(message)).collect()
}
