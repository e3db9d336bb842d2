//! The events that a participant reports to its owner.

use super::description::Description;
use bertha_core::ErrorKind;

/// The stack in force, seen from one participant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InForce {
    /// The life of the record that the stack belongs to; a store that lost its data begins another life.
    pub life: u64,
    /// The round of the stack; greater than all rounds before in this life.
    pub round: u64,
    /// The stack, as it is recorded.
    pub stack: Description,
    /// The alternatives of the participant's own stack that make this stack, in pre-order.
    pub picks: Vec<u8>,
    /// The participant that leads the round: its proposer, or the participant that made the record. It may
    /// have gone.
    pub leader: u64,
    /// This participant's id. It changes when the participant has expired and joined again.
    pub own_id: u64,
}

impl InForce {
    /// Returns true if this participant leads the round.
    pub fn leads(&self) -> bool {
        self.leader == self.own_id
    }
}

/// An event. Events come in the order in which they happened.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Event {
    /// The participant has joined, and this stack is in force. The event comes again after
    /// [`Expired`](Self::Expired), perhaps with another stack.
    Joined(InForce),
    /// A participant proposes this stack, and this participant can run it: get ready for it, without using it
    /// yet, and answer with `staged` or `refuse`.
    Stage {
        /// The round that the stack would have.
        round: u64,
        /// The stack.
        stack: Description,
        /// The alternatives of the participant's own stack that make this stack.
        picks: Vec<u8>,
        /// True if this participant proposed the stack, and so would lead that round.
        leads: bool,
    },
    /// Every participant staged this stack: use it from now on. After a fault it may be a stack that was
    /// abandoned before.
    Commit(InForce),
    /// The stack that was to be staged for this round won't be used. The stack in force stays.
    Abandoned {
        /// The round that failed.
        round: u64,
    },
    /// The proposal of this participant was refused, or not staged in time. The stack in force stays, for all
    /// participants.
    Refused {
        /// The round that the stack would have had.
        round: u64,
        /// The Chunnel and the participant that refused, and the reason.
        reason: String,
    },
    /// The ids of all participants, this participant included, in ascending order.
    Participants(Vec<u64>),
    /// The store took this participant for gone, since it did not hear from it in time. The other
    /// participants may have agreed on another stack in the meantime. The participant joins again; the stack
    /// in use stays until then.
    Expired,
    /// The store can't be reached, or refuses. The stack in use stays.
    StoreLost {
        /// The kind of failure.
        kind: ErrorKind,
        /// The text of the failure.
        reason: String,
    },
    /// The store answers again.
    StoreBack,
    /// An entry contradicted the protocol, such as a commit of a stack that not every participant had staged.
    /// It was ignored, and the record was corrected.
    Fault {
        /// The contradiction.
        reason: String,
    },
    /// The participant has left, as requested.
    Left,
    /// The participant can't join, or can't join again: it can't run the stack of the other participants, and
    /// its own stack was refused.
    Failed {
        /// The kind of failure.
        kind: ErrorKind,
        /// The reason.
        reason: String,
    },
}
