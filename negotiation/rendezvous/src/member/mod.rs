//! The protocol of rendezvous without its I/O: what the store answers comes in, transactions and events go out.
//!
//! What is in the store stands in [`record`]; what one participant does about it in [`Member`].

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
