//! Seats, rounds and calls as they are, over loom's primitives behind the names that they use.

mod sync;

#[path = "../../../../negotiation/rendezvous/src/group/counter.rs"]
pub(crate) mod counter;

#[path = "../../../../negotiation/src/switch/calls.rs"]
mod calls;
#[path = "../../../../negotiation/src/switch/known.rs"]
mod known;
#[path = "../../../../negotiation/src/switch/place.rs"]
pub(crate) mod place;
#[path = "../../../../negotiation/src/switch/round.rs"]
pub(crate) mod round;
#[path = "../../../../negotiation/src/switch/seats.rs"]
pub(crate) mod seats;
