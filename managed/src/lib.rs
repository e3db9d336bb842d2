//! RPC as a service of the machine: policies on calls, applied before calls are marshalled, and changed while calls flow.
//!
//! An [`Engine`] is a policy. The engines of an application's calls form a [`Chain`], which is without I/O: requests pass it in one
//! direction, their outcomes in the other. Operators add, configure, upgrade and remove engines between two bursts, and no call is lost,
//! repeated or passed by a later one.
//!
//! ```text
//!  caller  ──requests──▶  [Acl]  [RateLimit]  [Null]  ──▶  peer
//!          ◀──outcomes──                              ◀──
//! ```

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

// A heap's addresses are 64-bit numbers, and its structures are little-endian.
#[cfg(all(target_pointer_width = "64", target_endian = "little"))]
pub mod application;
pub mod attach;
mod burst;
mod call_counts;
mod chain;
mod change;
#[cfg(test)]
mod described;
mod descriptor;
mod engine;
pub mod engines;
pub mod layout;
mod message;
mod method;
mod order;
mod party;
#[cfg(feature = "plugins")]
pub mod plugin;
pub mod policies;
mod settings;
mod signal;
mod spare;
mod traffic;
mod unseen;

pub use bertha_chunnels::rpc::{Failure, FailureKind, NoTrace, Trace};
#[cfg(all(target_pointer_width = "64", target_endian = "little"))]
pub use bertha_datapath_shm::heap;
pub use burst::Burst;
pub use call_counts::{CallCounts, Counted, Status};
pub use chain::{Chain, Contents, Unchanged};
pub use change::{Change, Policy};
pub use descriptor::{Descriptor, Done, InHeap, NoDescriptor};
pub use engine::{Binding, Engine, EngineKind, Parts};
pub use message::{Copied, Kind, Message, Refusal};
pub use method::{Method, Service, Typed};
pub use order::Order;
pub use party::Party;
pub use policies::Policies;
pub use settings::{Settings, Unsuitable};
pub use signal::Signal;
pub use spare::Spare;
pub use traffic::Traffic;
pub use unseen::is_unseen;
