//! What two ends agreed on, and why.

use crate::wire::Answer;
use bertha_core::{Explanation, Node, Picks, Role, resolve};
use std::fmt;

/// The stack of one connection, and why it is this one.
///
/// Displayed, it reads `ClientShard / Serialize, agreed as client; passed over: ...`.
#[derive(Debug, Clone)]
pub struct Agreement {
    role: Role,
    layers: Vec<Node>,
    picks: Vec<u8>,
    reasons: String,
}

impl Agreement {
    pub(crate) fn new(role: Role, nodes: &[Node], answer: Answer) -> Self {
        let picks = match role {
            Role::Server => answer.server_picks,
            _ => answer.client_picks,
        };
        Self { role, layers: resolve(nodes, Picks::new(&picks)), picks, reasons: answer.reasons }
    }

    /// Which end this is.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The names of the Chunnels in use, top first.
    pub fn chunnels(&self) -> impl Iterator<Item = &'static str> {
        self.layers.iter().filter_map(|node| match node {
            Node::Layer(layer) => Some(layer.name()),
            Node::Select { .. } => None,
        })
    }

    /// Which alternative of each `select!` is in use, in pre-order: 0 for the first, 1 for the rest.
    pub fn picks(&self) -> &[u8] {
        &self.picks
    }

    /// Why alternatives were passed over; empty if the first choice was possible.
    pub fn reasons(&self) -> &str {
        &self.reasons
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.layers[..] {
            [] => f.write_str("no Chunnels")?,
            layers => write!(f, "{}", Explanation::of(layers))?,
        }
        f.write_str(match self.role {
            Role::Server => ", agreed as server",
            _ => ", agreed as client",
        })?;
        if !self.reasons.is_empty() {
            write!(f, "; passed over: {}", self.reasons)?;
        }
        Ok(())
    }
}
