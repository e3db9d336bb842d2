//! A connection whose stack was not agreed on.

use crate::AnyConnection;
use bertha::core::{BoxFuture, Explanation, Node, Picks, Situation, Statistics, forward, resolve};
use bertha::queue::{QueueBase, QueueConnection, Service};
use bertha::{Addr, Agreement, Base, Buf, Connection, Describe, Error, Pick};
use std::sync::Arc;

/// Returns the layers of a stack that is used without an agreement, top first.
pub(super) fn preferred(stack: &impl Describe) -> Vec<Node> {
    let nodes = stack.nodes();
    let picks = bertha::core::preferred(&nodes, &Situation::TWO_ENDS);
    resolve(&nodes, Picks::new(&picks))
}

/// An end of a topic below a stack, which is observed beside it.
pub(super) struct Shared<S: Service> {
    end: Arc<QueueConnection<S>>,
}

impl<S: Service> Shared<S> {
    pub(super) fn new(end: QueueConnection<S>) -> Self {
        Self { end: Arc::new(end) }
    }
}

impl<S: Service> Clone for Shared<S> {
    fn clone(&self) -> Self {
        Self { end: self.end.clone() }
    }
}

impl<S: Service> Connection for Shared<S> {
    type Data = Buf;
    type Base = QueueBase;

    forward!(self.end => base, mtu, send, recv, send_batch, recv_batch, drain, close);
}

/// A connection with a stack that nobody agreed on, over an end of a topic.
pub(super) struct Wrapped<C, S: Service> {
    connection: C,
    layers: Vec<Node>,
    end: Shared<S>,
}

impl<C: Connection<Data = Buf>, S: Service> Wrapped<C, S> {
    pub(super) fn new(connection: C, layers: Vec<Node>, end: Shared<S>) -> Self {
        Self { connection, layers, end }
    }
}

impl<C: Connection<Data = Buf>, S: Service> AnyConnection for Wrapped<C, S> {
    fn buffer(&self, length: usize) -> Result<Buf, Error> {
        self.connection.base().buffer(length)
    }

    fn longest(&self) -> usize {
        self.connection.mtu().saturating_sub(self.connection.base().reserved())
    }

    fn send(self: Arc<Self>, message: Buf) -> BoxFuture<'static, Result<(), Error>> {
        Box::pin(async move { self.connection.send(message).await })
    }

    fn send_burst(self: Arc<Self>, messages: Vec<Buf>) -> BoxFuture<'static, Result<(), Error>> {
        Box::pin(async move { self.connection.send_batch(messages.into_iter()).await })
    }

    fn receive(&self) -> BoxFuture<'_, Result<Buf, Error>> {
        Box::pin(self.connection.recv())
    }

    fn receive_burst<'a>(
        &'a self,
        into: &'a mut Vec<Buf>,
        most: usize,
    ) -> BoxFuture<'a, Result<usize, Error>> {
        Box::pin(self.connection.recv_batch(into, most))
    }

    fn drain(self: Arc<Self>) -> BoxFuture<'static, Result<(), Error>> {
        Box::pin(async move { self.connection.drain().await })
    }

    fn close(self: Arc<Self>) -> BoxFuture<'static, Result<(), Error>> {
        Box::pin(async move { self.connection.close().await })
    }

    fn upgrade(&self, _: Pick) -> Option<BoxFuture<'static, Result<(), Error>>> {
        None
    }

    fn explain(&self) -> String {
        let end = if self.layers.is_empty() { "an end of a topic" } else { ", over an end of a topic" };
        format!("{}{end}", Explanation::of(&self.layers))
    }

    fn chunnels(&self) -> Vec<&'static str> {
        let layer = |node: &Node| match node {
            Node::Layer(layer) => Some(layer.name()),
            Node::Select { .. } => None,
        };
        self.layers.iter().filter_map(layer).collect()
    }

    fn dropped(&self) -> u64 {
        0
    }

    fn forged(&self) -> u64 {
        0
    }

    fn statistics(&self) -> String {
        self.observed().to_string()
    }

    fn peer_address(&self) -> Addr {
        self.connection.base().peer_addr()
    }

    fn local_address(&self) -> Addr {
        self.connection.base().local_addr()
    }

    fn peer_identity(&self) -> Option<String> {
        self.connection.peer_identity().map(|identity| identity.to_string())
    }

    fn agreement(&self) -> Option<Arc<Agreement>> {
        None
    }

    fn observed(&self) -> Statistics {
        let mut statistics = Statistics::default();
        self.end.end.observe(&mut statistics);
        statistics
    }
}
