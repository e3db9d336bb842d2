//! The key-value store through which participants agree.
//!
//! * [`interface`]: the traits that a store implements. [`transaction`]: its requests and answers.
//!   [`limits`]: the bounds that every store keeps. [`name`]: the name of a connection.
//! * [`options`] and [`url`]: the address of a server, and the proofs of identity of the two ends. [`tls`]:
//!   the reasons for failures of TLS.
//! * [`memory`], and behind features of the same names `redis` and `etcd`: the stores.

#[cfg(feature = "etcd")]
mod etcd;
mod interface;
pub mod limits;
mod memory;
mod name;
#[cfg(any(feature = "redis", feature = "etcd"))]
mod options;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "store-tls")]
mod tls;
mod transaction;
#[cfg(any(feature = "redis", feature = "etcd"))]
mod url;

#[cfg(feature = "etcd")]
pub use etcd::{EtcdStore, EtcdWatch};
pub use interface::{RendezvousStore, Watch};
pub use memory::{MemoryStore, MemoryWatch};
pub use name::Name;
#[cfg(any(feature = "redis", feature = "etcd"))]
pub use options::StoreOptions;
#[cfg(feature = "redis")]
pub use redis::{RedisStore, RedisWatch};
pub use transaction::{Entry, Outcome, Revision, Snapshot, Transaction, Write};
