//! The protocol of rendezvous, without I/O: answers of the store come in, transactions and events go out.
//!
//! * [`record`]: the entries in the store. `description`: a stack as it stands there. `view`: all entries,
//!   read from a snapshot.
//! * `machine`: one participant. It joins (`join`), decides about the next step (`decide`), and draws the
//!   consequences of each new snapshot (`observe`). `backoff`: the pauses after failed upgrades.
//! * `own_stack`: the alternatives that the participant can run, and its preferences. `event`: its reports.

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
