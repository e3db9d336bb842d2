//! What two ends say to change the stack of a connection in use.

use super::Offer;
use serde::{Deserialize, Serialize};

/// One message about one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upgrade {
    /// The connection id.
    pub id: u64,
    /// The number of the attempt, and of the round if it succeeds: higher than all that its proposer has seen.
    pub round: u64,
    /// What is said.
    pub step: UpgradeStep,
}

/// What is said about an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum UpgradeStep {
    /// The proposer offers its stack, in each choice the alternative that it wants marked as the preferred one.
    Propose {
        /// The stack, with the id of the connection.
        offer: Offer,
    },
    /// The other end can run it.
    Accept {
        /// Whether its own stack is built.
        is_ready: bool,
        /// Which branch of each of the proposer's choices is used, in pre-order.
        proposer_picks: Vec<u8>,
        /// Which branch of each of the sender's.
        own_picks: Vec<u8>,
        /// Why alternatives were passed over.
        reasons: String,
    },
    /// The other end can't, or the number was used before.
    Decline {
        /// The number to propose with instead; 0 if it would not help.
        next: u64,
        /// Which Chunnel and why.
        text: String,
    },
    /// The proposer has given up the attempt. Nothing was changed.
    Abort,
    /// The sender sends in this round from now on.
    Begin {
        /// How many messages its application has sent in the round before.
        sent: u64,
    },
    /// The sender has seen the other end begin.
    BeginSeen,
}
