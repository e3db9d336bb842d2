//! Connections with any number of endpoints, whose stack changes while they are in use.
//!
//! Participants agree on a stack [through a store](crate), and talk over a [group](bertha_core::Group).
//!
//! * [`gathers`]: the bound that generic code needs. [`connection`]: what the application holds.
//! * [`link`]: what a stack stands on: 16 bytes in front of each message say which round it belongs to, who sent it, and which
//!   one it is. [`lane`]: one round of it; [`senders`]: how many messages came from whom; [`counter`]: how
//!   many were sent.
//! * [`standings`]: what is known of where the others stand, without I/O. [`handover`]: the steps of a change that take time.
//! * [`agent`]: the task that follows the store, and changes the rounds.
//!
//! **A change.** Everyone builds the new stack. Once the store has committed it, each participant ends its sends, drains its
//! Chunnels, and sends in the new round from then on. It says so to all; and once all others have said so too, so that it need not
//! answer anyone in the old round any more, it says how many messages it has sent there. Who has received so many from each of
//! the others, or knows that they are gone, lets the old stack run dry, and receives in the new round.
//!
//! So each message is delivered in the round in which it was sent, and all of a round before the next: by a change none is lost,
//! none repeated, and no two of one sender are swapped.

mod agent;
mod connection;
mod counter;
mod handover;
mod link;
mod peer_progress;
mod round;
mod runs_among;
mod senders;
mod sync;

pub use connection::MultiEndpoint;
pub use link::GroupLink;
pub use runs_among::RunsAmong;
