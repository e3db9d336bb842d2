//! The checks of every connection, over two topics.

use super::QueueSite;
use super::scene::{Scene, is_ordered};
use bertha_conformance::{self as conformance, Bufs};
use bertha_core::{Buf, Connection, Error};
use bertha_queues::{QueueBase, QueueConnection, Service};
use futures_util::future::join;
use std::cell::RefCell;
use std::fmt;

/// An end of two topics: it publishes to the first, and receives from the second.
pub struct Duplex<S: Service> {
    out: QueueConnection<S>,
    back: QueueConnection<S>,
}

impl<S: Service> Duplex<S> {
    /// Creates an end that sends through `out` and receives through `back`.
    pub fn new(out: QueueConnection<S>, back: QueueConnection<S>) -> Self {
        Self { out, back }
    }
}

impl<S: Service> Connection for Duplex<S> {
    type Data = Buf;
    type Base = QueueBase;

    fn base(&self) -> &QueueBase {
        self.out.base()
    }

    fn send(&self, message: Buf) -> impl Future<Output = Result<(), Error>> + Send {
        self.out.send(message)
    }

    fn recv(&self) -> impl Future<Output = Result<Buf, Error>> + Send {
        self.back.recv()
    }

    fn send_batch(
        &self,
        messages: impl Iterator<Item = Buf> + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        self.out.send_batch(messages)
    }

    fn recv_batch(
        &self,
        into: &mut (impl Extend<Buf> + Send),
        limit: usize,
    ) -> impl Future<Output = Result<usize, Error>> + Send {
        self.back.recv_batch(into, limit)
    }

    async fn drain(&self) -> Result<(), Error> {
        self.out.drain().await?;
        self.back.drain().await
    }

    async fn close(&self) -> Result<(), Error> {
        let (out, back) = join(self.out.close(), self.back.close()).await;
        out.and(back)
    }
}

impl<S: Service> fmt::Debug for Duplex<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Duplex").finish_non_exhaustive()
    }
}

/// Connections keep the promises of every connection and of base connections. They also keep the promises
/// about bursts, if the service keeps the order of a burst.
pub async fn connections_keep_their_promises<Q: QueueSite>(site: &Q) {
    if !site.sizes().connections {
        return;
    }
    let scenes = RefCell::new(Vec::new());
    let connect = async || {
        let (there, back) = (Scene::usual(site).await, Scene::usual(site).await);
        let [out, incoming] = there.ends().await;
        let [reply, replies] = back.ends().await;
        scenes.borrow_mut().extend([there, back]);
        (Duplex::new(out, replies), Duplex::new(reply, incoming))
    };
    macro_rules! each {
        ($($check:ident)*) => {$({
            let (a, b) = Box::pin(connect()).await;
            Box::pin(conformance::$check(&a, &b, &Bufs)).await;
            drop((a, b));
            let ended = scenes.take();
            for scene in ended {
                scene.end().await;
            }
        })*};
    }
    each! {
        messages_arrive_both_ways
        bursts_arrive_whole
        the_limit_is_respected
        a_limit_of_zero_returns_at_once
        a_burst_is_not_waited_for
        an_empty_burst_is_sent_at_once
        sends_go_on_while_a_recv_waits
        each_message_goes_to_one_receiver
        several_senders_lose_nothing
        a_dropped_recv_loses_nothing
        a_dropped_recv_batch_loses_nothing
        a_dropped_receiver_leaves_its_message_to_another
        a_dropped_send_is_whole_or_nothing
        close_wakes_who_waits
        calls_after_close_fail
    }
    let (a, b) = Box::pin(connect()).await;
    if a.base_mtu_is_small() {
        Box::pin(conformance::every_length_arrives(&a, &b)).await;
        Box::pin(conformance::buffers_have_the_reserved_headroom(&a, &b)).await;
    }
    if is_ordered(&a) {
        let (a, b) = Box::pin(connect()).await;
        Box::pin(conformance::an_oversize_message_fails_alone(&a, &b, &Bufs)).await;
        Box::pin(conformance::an_error_in_a_burst_keeps_the_rest(&a, &b, &Bufs)).await;
    }
    drop((a, b));
    let ended = scenes.take();
    for scene in ended {
        scene.end().await;
    }
}

impl<S: Service> Duplex<S> {
    /// Returns true if a message of the greatest length can be made.
    fn base_mtu_is_small(&self) -> bool {
        self.mtu() <= 2 << 20
    }
}
