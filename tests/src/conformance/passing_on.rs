//! Calls that a Chunnel must pass on to the connection below it.

use super::bursts::receive_all;
use super::delivery::{complete, receive};
use super::timeout::{let_arrive, succeeds};
use super::{Messages, Recorder};
use bertha_core::Connection;

/// Number of messages in the burst of these checks.
const COUNT: u64 = 64;

/// `drain`: "one that doesn't passes the call on". `below` stands directly below the Chunnel, at either end.
pub async fn a_drain_reaches_the_layer_below<A, B, M>(a: &A, b: &B, [below, _]: [&Recorder; 2], messages: &M)
where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    succeeds(a, "send", a.send(messages.make(a, 0))).await;
    assert_eq!(receive(b, messages).await, 0);
    let before = below.recorded().drains;
    succeeds(a, "drain", a.drain()).await;
    assert!(below.recorded().drains > before, "drain did not reach the layer below");
}

/// `send_batch`: "Sends a burst. A datapath hands as much of it as it can to the system in one call", which
/// it can't if a Chunnel passes on each message alone.
///
/// A Chunnel may send some of the messages alone, and messages of its own.
pub async fn a_burst_reaches_the_layer_below<A, B, M>(a: &A, b: &B, [below, _]: [&Recorder; 2], messages: &M)
where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    let before = below.recorded();
    let burst = (0..COUNT).map(|number| messages.make(a, number));
    succeeds(a, "send_batch", a.send_batch(burst)).await;
    complete(b, receive_all(b, messages, COUNT, 1000).await, COUNT);
    let alone = below.recorded().sent_alone - before.sent_alone;
    assert!(alone <= COUNT / 2, "{alone} messages of a burst of {COUNT} were sent alone to the layer below");
}

/// `recv_batch`: "appends what is there".
pub async fn a_burst_is_received_from_the_layer_below<A, B, M>(
    a: &A,
    b: &B,
    [_, below]: [&Recorder; 2],
    messages: &M,
) where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    let before = below.recorded();
    let burst = (0..COUNT).map(|number| messages.make(a, number));
    succeeds(a, "send_batch", a.send_batch(burst)).await;
    let_arrive(a).await;
    complete(b, receive_all(b, messages, COUNT, 1000).await, COUNT);
    let alone = below.recorded().received_alone - before.received_alone;
    assert!(
        alone <= COUNT / 2,
        "{alone} messages of a burst of {COUNT} were received alone from the layer below"
    );
}

/// `close`: "Sends what layers still hold back, tells the peer, and closes", the connection below included.
pub async fn a_close_reaches_the_layer_below<A, B, M>(
    a: &A,
    _b: &B,
    [below, _]: [&Recorder; 2],
    _messages: &M,
) where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    succeeds(a, "close", a.close()).await;
    assert!(below.recorded().closes > 0, "close did not reach the layer below");
}
