//! The same order for all participants of a connection with any number of endpoints.
//!
//! Two Chunnels make it, in two ways; a stack offers both and the participants change from one to the other as others come and go:
//!
//! * [`ReceiverOrdered`] numbers each sender's messages, and the receiver puts them in order. Messages of different senders are
//!   not ordered among each other. So all receive in the same order while there are two participants, since then nobody receives
//!   from more than one; it takes one way from sender to receiver.
//! * [`SequencerOrdered`] sends every message to the participant that leads the round, which gives it a number and sends it to all. That
//!   is one order for any number of participants, at the price of a second way, and of everything passing through one of them.
//!
//! ```
//! use bertha_chunnels::{ReceiverOrdered, SequencerOrdered};
//! use bertha_core::{make_stack, select};
//!
//! let stack = make_stack!(select!(ReceiverOrdered::new(), SequencerOrdered::new()));
//! ```
//!
//! # What is promised
//! * **Order.** Any two messages that two participants both receive they receive in the same order; in that of the calls if they are of one
//!   sender. With [`ReceiverOrdered`] among three or more only the latter.
//! * **Loss.** They order and repeat nothing: over a group that loses messages, or for a newcomer to whom earlier ones were never sent, a
//!   message that is missing is waited for as long as `patience`, or until the buffer is full, and then passed over. It is
//!   dropped if it comes after that, and so are those that come twice.
//! * **Own messages** a participant does not receive.
//! * **The sequencer** works while its application receives. If it vanishes, what it has not ordered yet is lost; the
//!   participants then begin a new round that another one leads.

mod arrivals;
mod places;
mod receiver;
mod sequencer;
#[cfg(test)]
mod tests;
mod window;

pub use receiver::{ReceiverOrdered, ReceiverOrderedConnection};
pub use sequencer::{SequencerOrdered, SequencerOrderedConnection};

use std::time::Duration;

/// How much is kept, and how long a message is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limits {
    capacity: usize,
    patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { capacity: 4_096, patience: Duration::from_millis(50) }
    }
}
