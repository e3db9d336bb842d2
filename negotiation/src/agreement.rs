//! What two ends agreed on, and why.

use crate::wire::Answer;
use crate::{PublicKey, Session};
use bertha_core::{Explanation, Node, Picks, Role, resolve};
use std::fmt;
use std::sync::Arc;

/// The stack of one connection, and why it is this one.
///
/// Displayed, it reads `ClientShard / Serialize, agreed as client; passed over: ...`.
#[derive(Debug, Clone)]
pub struct Agreement {
    role: Role,
    layers: Vec<Node>,
    picks: Vec<u8>,
    reasons: String,
    round: u64,
    session: Arc<Session>,
}

impl Agreement {
    pub(crate) fn new(role: Role, nodes: &[Node], answer: Answer, session: Arc<Session>) -> Self {
        let picks = match role {
            Role::Server => answer.server_picks,
            _ => answer.client_picks,
        };
        Self {
            role,
            layers: resolve(nodes, Picks::new(&picks)),
            picks,
            reasons: answer.reasons,
            round: 0,
            session,
        }
    }

    /// The agreement to which the connection has changed.
    pub(crate) fn renewed(&self, nodes: &[Node], (round, picks): (u64, Vec<u8>)) -> Self {
        let layers = resolve(nodes, Picks::new(&picks));
        let reasons = String::new();
        Self { role: self.role, layers, picks, reasons, round, session: self.session.clone() }
    }

    /// Which round of the connection this is: 0 for the stack with which it began, and a higher number after each
    /// [`upgrade`](crate::Negotiated::upgrade).
    pub fn round(&self) -> u64 {
        self.round
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

    /// SHA-256 over the exact bytes of offer and answer, the same on both ends.
    ///
    /// A Chunnel that authenticates the connection by its own means (TLS) binds itself to it, so that an agreement
    /// which somebody altered on its way does not outlive that. With [`Credentials`](crate::Credentials) nobody
    /// without the keys can alter one in the first place.
    pub fn transcript(&self) -> [u8; 32] {
        self.session.transcript()
    }

    /// The identity that the peer has proved: one of those that this end
    /// [trusts](crate::Credentials::trusting), if it named any.
    pub fn peer(&self) -> Option<PublicKey> {
        self.session.peer()
    }

    /// Whether the agreement was protected by [`Credentials`](crate::Credentials) on both ends.
    pub fn is_authenticated(&self) -> bool {
        self.session.is_authenticated()
    }

    /// Why alternatives were passed over, possibly cut; empty if the first choice was possible.
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
        if self.round > 0 {
            write!(f, ", round {}", self.round)?;
        }
        if !self.reasons.is_empty() {
            write!(f, "; passed over: {}", self.reasons)?;
        }
        Ok(())
    }
}
