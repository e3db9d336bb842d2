//! Connections with any number of endpoints, whose stack changes while they are in use.
//!
//! Participants agree on a stack [through a store](crate::store), and talk over a [group](bertha_core::Group). Changes are
//! carried out by the machine and the task that change the stack between two ends as well; only the way to agree is another one.
//!
//! * [`runs_among`]: the bound that generic code needs. [`connection`]: the connection that the application holds.
//! * [`link`]: the connection on which a stack stands: 16 bytes in front of each message name its round, its sender, and its number.
//!   [`round`]: one round of it; [`senders`]: the messages that came from each sender; [`counter`]: those that this end sent.
//!   [`proofs`]: with a key of the group, 40 bytes, by which receivers tell its senders from others.
//! * [`by_store`]: how participants agree on a change, without I/O. [`progress`]: how far each of them is, without I/O;
//!   [`rest`]: waiting for them. [`dropped`]: what has come to nothing, by reason. [`agent`]: both, for the task that changes the stack.
//!
//! **A change.** Everyone builds the new stack. Once the store has committed it, each participant ends its sends, drains its
//! Chunnels, and sends in the new round from then on. It says so to all; and once all others have said so too, so that it need not
//! answer anyone in the old round any more, it says how many messages it has sent there. A participant that has received so many from
//! each of the others, or knows that they are gone, lets the old stack run dry, and receives in the new round.
//!
//! **Where each message reaches one of the receivers**, over a topic of a messaging service, participants tell each other in the store how
//! far they are, and let a round run empty before the next begins: [`status`] has the argument and judges, [`share`] counts what this
//! end has of a round, as a [`tally`], [`board`] speaks to the store, and [`emptying`] waits.
//!
//! So each message is delivered in the round in which it was sent, and all of a round before the next: by a change none is lost,
//! none repeated, and no two of one sender are swapped.

mod agent;
mod board;
mod by_store;
mod connection;
mod counter;
mod dropped;
mod emptying;
mod link;
mod progress;
mod proofs;
mod rest;
mod round;
mod round_id;
mod runs_among;
mod senders;
mod share;
mod status;
mod sync;
mod tally;

pub use connection::MultiEndpoint;
pub use link::GroupLink;
pub use runs_among::RunsAmong;
