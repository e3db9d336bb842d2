//! A connection whose stack was not agreed on.

use crate::any::Knowledge;
use bertha::core::{Explanation, Node, Picks, Situation, Statistics, forward, resolve};
use bertha::queue::{QueueBase, QueueConnection, Service};
use bertha::{Buf, Connection, Describe};
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

/// The knowledge about a connection with a stack that nobody agreed on, over an end of a topic.
pub(super) struct Chosen<S: Service> {
    pub(super) layers: Vec<Node>,
    pub(super) end: Shared<S>,
}

impl<C: Connection<Data = Buf>, S: Service> Knowledge<C> for Chosen<S> {
    fn explain(&self, _: &C) -> String {
        let end = if self.layers.is_empty() { "an end of a topic" } else { ", over an end of a topic" };
        format!("{}{end}", Explanation::of(&self.layers))
    }

    fn chunnels(&self, _: &C) -> Vec<&'static str> {
        let layer = |node: &Node| match node {
            Node::Layer(layer) => Some(layer.name()),
            Node::Select { .. } => None,
        };
        self.layers.iter().filter_map(layer).collect()
    }

    fn observed(&self, _: &C) -> Statistics {
        let mut statistics = Statistics::default();
        self.end.end.observe(&mut statistics);
        statistics
    }
}
