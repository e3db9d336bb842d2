//! Connections with any number of endpoints, whose stack changes while they are in use.
//!
//! Participants agree on a stack [through a store](crate::rendezvous::store), and communicate over a
//! [group](bertha_core::Group). The machine and the task that change the stack between two ends carry out
//! changes here as well; only the way to agree differs.
//!
//! * [`runs_among`]: the bound that generic code needs. [`connection`]: the connection that the application
//!   holds.
//! * [`link`]: the connection on which a stack stands: 16 bytes in front of each message name its round, its
//!   sender, and its number. [`round`]: one round of a link; [`senders`]: the messages that came from each
//!   sender; [`counter`]: the messages that this end sent. [`proofs`]: with a key of the group, 40 bytes by
//!   which receivers recognise its senders.
//! * [`by_store`]: the agreement on a change, without I/O. [`progress`]: the progress of each participant,
//!   without I/O; [`rest`]: waiting for the participants. [`dropped`]: dropped messages, by reason.
//!   [`agent`]: agreement and progress, for the task that changes the stack.
//!
//! **A change.** Every participant builds the new stack. Once the store has committed it, each participant
//! ends its sends, drains its Chunnels, and sends in the new round from then on, and reports this to all
//! participants. Once all other participants have reported the same, so that it need not answer in the old
//! round any more, it reports the number of messages that it has sent there. A participant that has received
//! that number from each other participant, or knows that the sender is gone, lets the old stack run empty,
//! and receives in the new round.
//!
//! **Where each message reaches one receiver**, over a topic of a messaging service, participants report
//! their progress in the store, and let a round run empty before the next round begins: [`status`] has the
//! argument and decides, [`share`] counts the messages that this end has of a round, as a [`tally`],
//! [`board`] communicates with the store, and [`emptying`] waits.
//!
//! So each message is delivered in the round in which it was sent, and all messages of a round before the
//! next round: a change loses no message, repeats none, and swaps no two messages of a sender.

mod agent;
mod board;
mod by_store;
mod connection;
mod counter;
mod dropped;
mod emptying;
mod link;
#[cfg(test)]
mod link_tests;
mod progress;
mod proofs;
mod rest;
mod round;
mod round_id;
mod runs_among;
mod senders;
mod share;
mod statistics;
mod status;
mod sync;
mod tally;

pub use connection::MultiEndpoint;
pub use link::GroupLink;
pub use runs_among::RunsAmong;
pub use statistics::GroupStatistics;

#[cfg(all(test, loom))]
mod counter_loom_tests;
