//! The protocol of rendezvous without its I/O: what the store answers comes in, transactions and events go out.
//!
//! What is in the store stands in [`record`]; what one participant does about it in [`Member`].

mod act;
mod backoff;
mod description;
mod enter;
mod event;
mod follow;
mod ids;
mod member;
mod own;
pub mod record;
mod view;

pub use description::Description;
pub use event::{Event, InForce};
pub use member::{Member, Request, Terms};
pub use own::OwnStack;
pub use view::{Recorded, View};

#[cfg(test)]
mod tests;
