//! Agreeing on a stack among any number of endpoints, through a key-value store.

#[cfg(feature = "etcd")]
mod etcd;
pub mod limits;
mod memory;
mod name;
mod participant;
pub mod proto;
#[cfg(feature = "redis")]
mod redis;
mod settings;
mod store;
mod task;
mod transaction;

#[cfg(feature = "etcd")]
pub use etcd::{EtcdStore, EtcdWatch};
pub use memory::{MemoryStore, MemoryWatch};
pub use name::Name;
pub use participant::Participant;
pub use proto::{Event, InForce, NumParticipantsAtMost, Policy};
#[cfg(feature = "redis")]
pub use redis::{RedisStore, RedisWatch};
pub use settings::RendezvousSettings;
pub use store::{RendezvousStore, Watch};
pub use transaction::{Entry, Outcome, Revision, Snapshot, Transaction, Write};
