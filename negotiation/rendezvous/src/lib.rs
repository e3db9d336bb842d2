//! Agreeing on a stack among any number of endpoints, through a key-value store.
//!
//! Each endpoint is a [`Participant`] of a connection with a [`Name`]. The store records the stack in force and who is there.
//! Who comes adopts the stack in force. A participant that would rather have another one proposes it: everyone who can run it
//! makes ready for it (*stages* it), and once everyone has, or was taken for gone by the store, it is in force. That is a
//! two-phase commit whose votes and decision are in the store, so whoever sees that a step is missing takes it, and a proposer
//! that crashes holds nobody up.
//!
//! ```
//! # use bertha_core::{Error, Identity, make_stack, select};
//! # use bertha_datapath_sim::Sim;
//! use bertha_rendezvous::{Event, MemoryStore, Name, Participant, RendezvousSettings};
//! # #[derive(Identity)] struct ReceiverOrdered;
//! # #[derive(Identity)] struct ServiceOrdered;
//! # let mut sim = Sim::new(1);
//! # let runtime = sim.runtime();
//! # sim.run(async {
//! let stack = make_stack!(select!(ReceiverOrdered, ServiceOrdered));
//! let store = MemoryStore::new(runtime.clone());
//! let name = Name::new("orders")?;
//! let mut one = Participant::join(store, name, &stack, runtime, RendezvousSettings::default()).await?;
//! assert_eq!(one.joined().stack.to_string(), "ReceiverOrdered");
//! one.propose([1]).await?;
//! while let Some(event) = one.next().await {
//!     match event {
//!         Event::Stage { round, .. } => one.staged(round).await?,
//!         Event::Commit(now) if now.stack.to_string() == "ServiceOrdered" => break,
//!         other => println!("{other:?}"),
//!     }
//! }
//! # Ok::<(), Error>(())
//! # }).unwrap();
//! ```
//!
//! * **Policies.** A `select!` may prefer an alternative while a condition holds, such as
//!   `prefer 0 if NumParticipantsAtMost(2)`. When participants come or go and what is preferred changes, one of those that
//!   prefer it proposes to switch. If that is refused, or two stacks disagree, it proposes it again only among another number of
//!   participants.
//! * **Time.** Who is gone, and whether staging took too long, the store decides, by its own clock. Two hosts' clocks are never
//!   compared.
//! * **A store that fails** stops newcomers and upgrades, and nobody who is in. One that lost its data is filled again by
//!   whoever is in.
//! * **Faults.** No record makes a participant switch to a stack that it has not staged, or that somebody who is there has not
//!   accepted: a record that says so is put right. That holds against participants that don't keep to the protocol, not
//!   against whoever forges or removes the entries of others: who may write to the store is up to the store.
//! * **Compatibility** is judged against the stack in the store, by each participant for itself. A capability that compares by
//!   overlap lets two participants in that each overlap with that stack and not with each other; use exact ones.

#![forbid(unsafe_code)]

mod group;
mod join;
pub mod member;
mod participant;
mod settings;
mod store;

pub use group::{GroupLink, MultiEndpoint, RunsAmong};
pub use join::{Join, Rendezvous};
pub use member::{Event, InForce};
pub use participant::Participant;
pub use settings::RendezvousSettings;
pub use store::{
    Entry, MemoryStore, MemoryWatch, Name, Outcome, RendezvousStore, Revision, Snapshot, Transaction, Watch,
    Write, limits,
};
#[cfg(feature = "etcd")]
pub use store::{EtcdStore, EtcdWatch};
#[cfg(feature = "redis")]
pub use store::{RedisStore, RedisWatch};
