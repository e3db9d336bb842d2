//! Agreeing on a stack among any number of endpoints, through a key-value store.
//!
//! [`Rendezvous`] gives every stack the method [`rendezvous`](Rendezvous::rendezvous): it joins a connection
//! with a [`Name`], and makes a [`MultiEndpoint`].
//!
//! Each endpoint is a [`Participant`]. The store records the stack in force and the participants. A newcomer
//! adopts the stack in force. A participant that prefers another stack proposes it: all participants that can
//! run it get ready for it (*stage* it), and once all have staged it, or have expired in the store, it is in
//! force. This is a two-phase commit whose votes and decision are in the store, so any participant takes a
//! step that it sees missing, and a proposer that crashes holds up no participant.
//!
//! ```
//! # use bertha_core::{Error, Identity, make_stack, select};
//! # use bertha_datapath_sim::Sim;
//! use bertha_negotiation::rendezvous::{Event, MemoryStore, Name, Participant, RendezvousSettings};
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
//! * **Policies.** A `select!` may prefer an alternative while a condition holds, such as `prefer 0 if
//!   NumParticipantsAtMost(2)`. When participants come or go and the preferred alternative changes, a
//!   participant that prefers it proposes the switch. If the proposal is refused, or two stacks disagree, the
//!   participant proposes it again only among another number of participants.
//! * **Time.** The store decides by its own clock which participants have gone, and whether staging took too
//!   long. Clocks of two hosts are never compared.
//! * **A store that fails** stops newcomers and upgrades, and no participant that has joined. A store that
//!   lost its data is filled again by the participants that have joined.
//! * **Faults.** No record makes a participant switch to a stack that it has not staged, or that another
//!   participant has not accepted: such a record is corrected. This protects against participants that break
//!   the protocol, not against forged or removed entries of other participants: the store controls the right
//!   to write to it.
//! * **Compatibility** is judged against the stack in the store, by each participant for itself. A capability
//!   that compares by overlap admits two participants that each overlap with that stack but not with each
//!   other; use exact capabilities.
//!
//! # Attackers
//!
//! Nothing among participants is encrypted; encryption is a matter of the store, of the network, and of
//! Chunnels. With a [`group_key`](RendezvousSettings::group_key) their messages are authenticated, so that
//! messages of senders without the key are dropped and counted. All participants have that key, so each of
//! them, but no outsider, can do the following. Without a key, any attacker that can send to the group can:
//! - deliver messages in another participant's name;
//! - have a change miss messages that were sent before it, or wait for messages that were not sent, each time up to
//!   [`handover_timeout`](RendezvousSettings::handover_timeout); a later change is then refused for not being staged in time;
//! - fill the bounded tables of a round, so that a new sender is not heard before the next round.
//!
//! Give participants encrypted connections to the store, and a login of their own with no more rights than
//! they need: `RedisStore` and `EtcdStore` list these rights.
//!
//! An attacker that can write to the store can also remove participants and records, and use up the numbers of rounds.
//!
//! Under all these attacks no participant panics or hangs, memory stays bounded, the store alone decides
//! which stack is in force, all participants end up in the same round, and once the attacker is gone its
//! effects end with the next change.

mod group;
mod join;
pub mod member;
mod participant;
mod settings;
mod store;

pub use group::{GroupLink, GroupStatistics, MultiEndpoint, RunsAmong};
pub use join::{Join, Rendezvous};
pub use member::{Event, InForce};
pub use participant::Participant;
pub use settings::RendezvousSettings;
#[cfg(any(feature = "redis", feature = "etcd"))]
pub use store::StoreOptions;
pub use store::{
    Entry, MemoryStore, MemoryWatch, Name, Outcome, RendezvousStore, Revision, Snapshot, Transaction, Watch,
    Write, limits,
};
#[cfg(feature = "etcd")]
pub use store::{EtcdStore, EtcdWatch};
#[cfg(feature = "redis")]
pub use store::{RedisStore, RedisWatch};
