//! The unchanged sources of slots, epochs and calls, with loom's primitives behind the names that the sources
//! use.

mod sync;

#[path = "../../../../negotiation/src/rendezvous/group/counter.rs"]
pub(crate) mod counter;

#[path = "../../../../negotiation/src/upgrade/calls.rs"]
mod calls;
#[path = "../../../../negotiation/src/upgrade/epoch.rs"]
pub(crate) mod epoch;
#[path = "../../../../negotiation/src/upgrade/slot.rs"]
pub(crate) mod slot;
#[path = "../../../../negotiation/src/upgrade/slots.rs"]
pub(crate) mod slots;
#[path = "../../../../negotiation/src/link/waker_list.rs"]
mod waker_list;
