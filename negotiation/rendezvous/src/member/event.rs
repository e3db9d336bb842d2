//! The events that a participant reports to its owner.

use super::description::Description;
use bertha_core::ErrorKind;

/// The stack in force, seen from one participant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InForce {
    /// Which life of the record it belongs to: another one after the store lost its data.
    pub life: u64,
    /// Its round; greater than all before in this life.
    pub round: u64,
    /// The stack, as it is recorded.
    pub stack: Description,
    /// Which alternatives of the participant's own stack that means, in pre-order.
    pub picks: Vec<u8>,
    /// The participant that leads it: its proposer, or the one that made the record. It may have gone.
    pub leader: u64,
    /// This participant's id. Another one after it expired and joined again.
    pub own_id: u64,
}

impl InForce {
    /// Whether this participant leads the round.
    pub fn leads(&self) -> bool {
        self.leader == self.own_id
    }
}

/// An event. Events come in the order in which they happened.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Event {
    /// The participant is in, and this stack is in force. Again after [`Expired`](Self::Expired), perhaps with another
    /// stack.
    Joined(InForce),
    /// Somebody proposes this stack, and this participant can run it: make ready for it, without using it yet, and answer
    /// with `staged` or `refuse`.
    Stage {
        /// The round that it would have.
        round: u64,
        /// The stack.
        stack: Description,
        /// Which alternatives of the participant's own stack that means.
        picks: Vec<u8>,
        /// Whether this participant proposed it, and so would lead that round.
        leads: bool,
    },
    /// Everyone staged this stack: use it from now on. After a fault it may be one that was abandoned before.
    Commit(InForce),
    /// The stack that was to be staged for this round won't be used. The stack in force stays.
    Abandoned {
        /// The round that came to nothing.
        round: u64,
    },
    /// The proposal of this participant was refused, or not staged in time. The stack in force stays, for everyone.
    Refused {
        /// The round that it would have had.
        round: u64,
        /// Which Chunnel of which participant, and why.
        reason: String,
    },
    /// All participants, in ascending order, this one among them.
    Participants(Vec<u64>),
    /// The store took this participant for gone, since it did not hear from it in time. The others may have agreed on
    /// another stack meanwhile. Joins again; the stack in use stays until then.
    Expired,
    /// The store can't be reached, or refuses. The stack in use stays.
    StoreLost {
        /// The kind of failure.
        kind: ErrorKind,
        /// Its text.
        reason: String,
    },
    /// The store answers again.
    StoreBack,
    /// An entry contradicted the protocol, such as a commit that not everyone had staged. It was not
    /// believed, and the record was put right.
    Fault {
        /// The contradiction.
        reason: String,
    },
    /// The participant has left, as it was asked to.
    Left,
    /// The participant can't join, or can't join again: it runs no stack that the others run, and somebody refused its own.
    Failed {
        /// The kind of failure.
        kind: ErrorKind,
        /// Why.
        reason: String,
    },
}
