//! Seats, rounds and calls as they are, over loom's primitives behind the names that they use.

mod sync;

#[path = "../../../../negotiation/rendezvous/src/group/counter.rs"]
pub(crate) mod counter;

#[path = "../../../../negotiation/src/upgrade/calls.rs"]
mod calls;
#[path = "../../../../negotiation/src/link/last_waiter.rs"]
mod last_waiter;
#[path = "../../../../negotiation/src/upgrade/place.rs"]
pub(crate) mod place;
#[path = "../../../../negotiation/src/upgrade/round.rs"]
pub(crate) mod round;
#[path = "../../../../negotiation/src/upgrade/seats.rs"]
pub(crate) mod seats;
