//! The same order for all participants of a connection with any number of endpoints.
//!
//! Two Chunnels provide it in two ways. A stack offers both, and the participants change between them as
//! participants join and leave:
//!
//! * [`ReceiverOrdered`] numbers each sender's messages, and the receiver orders them. Messages of different
//!   senders are not ordered among each other, so the order is total for two participants, each of which
//!   receives from one sender alone. A message takes one hop.
//! * [`SequencerOrdered`] sends every message to the participant that leads the round, which numbers it and
//!   sends it to all. The result is one order for any number of participants, at the cost of a second hop,
//!   and of all messages passing through the leader.
//!
//! ```
//! use bertha_chunnels::{ReceiverOrdered, SequencerOrdered};
//! use bertha_core::{make_stack, select};
//!
//! let stack = make_stack!(select!(ReceiverOrdered::new(), SequencerOrdered::new()));
//! ```
//!
//! # Guarantees
//!
//! * **Order.** Two messages that two participants both receive arrive in the same order at both, and in the
//!   order of the calls if they have the same sender. [`ReceiverOrdered`] among three or more participants
//!   guarantees only the order of each sender.
//! * **Loss.** Neither Chunnel repeats messages. Over a group that loses messages, or for a participant that
//!   joins later, a receiver waits for a missing message until the gap time-out, or until the buffer is full,
//!   and then skips it. A message that arrives after it was skipped is dropped, and so are duplicates.
//! * **Own messages** are not received by their sender.
//! * **The sequencer** orders messages while its application receives. If it vanishes, messages that it has not ordered are lost;
//!   the participants then begin a new round with another leader.
//!
//! # Defaults
//!
//! | setting | default |
//! |---|---|
//! | [`gap_timeout`](ReceiverOrdered::gap_timeout) | 50 milliseconds |
//! | [`capacity`](ReceiverOrdered::capacity) of early messages | 4,096 for each sender; with a sequencer 4,096 |

mod arrivals;
mod frame;
mod receiver;
mod reception;
mod sequencer;
mod statistics;
#[cfg(test)]
mod tests;
mod window;

pub use receiver::{ReceiverOrdered, ReceiverOrderedConnection};
pub use sequencer::{SequencerOrdered, SequencerOrderedConnection};
pub use statistics::TotalOrderStatistics;

use std::time::Duration;

/// The size of the buffer, and the time to wait for a missing message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limits {
    capacity: usize,
    gap_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { capacity: 4_096, gap_timeout: Duration::from_millis(50) }
    }
}
