//! The answer of a known server, as its client expects it.

use crate::auth::claim;
use crate::wire::CLAIM;
use bertha_core::DifferingCapability;
use serde::{Deserialize, Serialize};

/// The answer that a client expects of the server, since the server gave it before.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Expected {
    /// The branch of each choice that the client offers, in pre-order.
    pub client_picks: Vec<u8>,
    /// The branch of each of the server's choices.
    pub server_picks: Vec<u8>,
    /// The idle time-out of both ends, in milliseconds.
    pub idle_ms: u32,
    /// The server's capabilities that differ from the client's.
    pub capabilities: Vec<DifferingCapability>,
}

impl Expected {
    /// Returns the claim of a client that expects this answer.
    pub(crate) fn claim(&self) -> [u8; CLAIM] {
        claim(&self.client_picks, &self.server_picks, self.idle_ms, &self.capabilities)
    }
}
