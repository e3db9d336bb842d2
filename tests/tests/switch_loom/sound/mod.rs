//! Slots, epochs and calls as they are, over loom's primitives behind the names that they use.

mod sync;

#[path = "../../../../negotiation/rendezvous/src/group/counter.rs"]
pub(crate) mod counter;

#[path = "../../../../negotiation/src/upgrade/calls.rs"]
mod calls;
#[path = "../../../../negotiation/src/upgrade/epoch.rs"]
pub(crate) mod epoch;
#[path = "../../../../negotiation/src/link/last_waiter.rs"]
mod last_waiter;
#[path = "../../../../negotiation/src/upgrade/slot.rs"]
pub(crate) mod slot;
#[path = "../../../../negotiation/src/upgrade/slots.rs"]
pub(crate) mod slots;
