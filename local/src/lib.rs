//! Services of one machine find each other in a [directory], and talk through shared memory: [`MaybeLocal`].
//!
//! ```no_run
//! use bertha_core::make_stack;
//! use bertha_local::{Directory, MaybeLocal};
//!
//! let directory = Directory::at("/run/bertha/directory.sock");
//! // At either end, over a stream such as `Tcp`. A server registers the address at which it listens.
//! let stack = make_stack!(MaybeLocal::new(directory));
//! ```
//!
//! An address says nothing about where its owner is, and any process may claim it. Locality is proved by the Unix socket of the
//! directory: both ends have reached it, so both are on its machine, and the kernel vouches for their users. A number of the
//! directory's, which the service says over the connection that it has with the client, proves that both speak of one registration.
//! Memory is shared with the users alone that [`Shm::users`](bertha_datapath_shm::Shm::users) names, by default the own.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

pub mod directory;
mod maybe_local;

pub use directory::{Directory, Registration};
pub use maybe_local::{MaybeLocal, MaybeLocalConnection, MaybeLocalStatistics, Reason, Way};
