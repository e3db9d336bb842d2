//! The protocol of rendezvous, without I/O: answers of the store come in, transactions and events go out.
//!
//! * [`record`]: the entries in the store. [`description`]: a stack as it stands there. [`view`]: all of them, read from a snapshot.
//! * [`machine`]: one participant, which [joins](join), [decides](decide) about the next step, and [draws the
//!   consequences](observe) of each new snapshot. [`backoff`]: its patience with upgrades that come to nothing.
//! * [`own_stack`]: what it can run, and prefers. [`event`]: what it reports.

mod backoff;
mod decide;
mod description;
mod event;
mod ids;
mod join;
mod machine;
mod observe;
mod own_stack;
pub mod record;
mod view;

pub use description::Description;
pub use event::{Event, InForce};
pub use machine::{Member, MemberSettings, Request};
pub use own_stack::OwnStack;
pub use view::{Recorded, View};

#[cfg(test)]
mod tests;
