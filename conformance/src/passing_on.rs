//! Calls that a Chunnel must pass on to the connection below it.

use super::bursts::receive_all;
use super::delivery::{complete, receive};
use super::timeout::{let_arrive, succeeds};
use super::{Messages, Recorder};
use bertha_core::guarantee::{Authenticated, Encrypted, ForwardSecret, PeerIdentified, Set};
use bertha_core::{Connection, Describe, Node};

/// Number of messages in the burst of these checks.
const COUNT: u64 = 64;

/// `drain`: a Chunnel that holds no messages back "passes the call on". `below` stands directly below the
/// Chunnel, at either end.
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

/// [`guarantee`](bertha_core::guarantee): "A Chunnel passes the guarantees of the layers below it on, unless it withdraws them." It can pass
/// them on only for messages that go through the layers below.
///
/// A Chunnel that goes around the layers below fails this check, and is to be tested by the other checks. No check
/// sees from outside if such a Chunnel withdraws all guarantees that its own way lacks; [`withdraws_security`] checks
/// the guarantees of security.
pub async fn messages_go_through_the_layer_below<A, B, M>(
    a: &A,
    b: &B,
    [below, _]: [&Recorder; 2],
    messages: &M,
) where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    let sent = || below.recorded().sent_alone + below.recorded().sent_in_bursts;
    let before = sent();
    succeeds(a, "send", a.send(messages.make(a, 0))).await;
    assert_eq!(receive(b, messages).await, 0);
    assert!(sent() > before, "a message went around the layer below");
}

/// A Chunnel whose messages may go around the layers below it withdraws their guarantees about attackers,
/// unless it gives these guarantees itself.
pub fn withdraws_security(chunnel: &impl Describe) {
    let security = Set::of::<(Encrypted, (Authenticated, (ForwardSecret, PeerIdentified)))>();
    for node in chunnel.nodes() {
        let Node::Layer(layer) = node else { continue };
        let passed = security.without(layer.effects().gives() | layer.effects().withdraws());
        assert!(passed.is_empty(), "{layer} goes around the layers below and does not withdraw {passed}");
    }
}

/// `send_batch`: "A datapath passes as many of its messages as possible to the system in one call", which is
/// impossible if a Chunnel passes the messages on one by one.
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

/// `recv_batch`: "appends all available messages".
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

/// `close`: "Sends the messages that layers still hold back, notifies the peer, and closes". Closing includes
/// the connection below.
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
