//! Memory that two processes of a machine share, as a Bertha datapath: [`Shm`].
//!
//! Each connection has a memfd with two bounded [rings](ring), one ring for each direction. The client
//! creates the memfd and passes it on through a Unix socket (`SCM_RIGHTS`); the server accepts it only with
//! seals that keep its size. Afterwards the socket carries no messages: a byte on it wakes a sleeping end,
//! and its hang-up tells of the peer's death. So a waiting end is woken within microseconds of the peer's
//! crash, and the memory is freed with the last of the two mappings.
//!
//! **The peer is hostile.** It may write anything at any time into the shared memory. All access is by
//! atomics; each index is read once and checked once; and a message is copied into a
//! [`Buf`](bertha_core::Buf) of this process before any code looks at it. A message is never lent in place: a
//! decoder reads a byte twice, and a `&[u8]` whose bytes change in between is undefined behaviour, so no
//! proof of safety exists. The socket wakes sleepers in place of an eventfd, because the two ends of an
//! eventfd share their file flags: the peer could clear `O_NONBLOCK`, fill the counter, and so block this
//! end's next wake-up forever. The ends of a socket have flags of their own.
//!
//! Beside connections there are [heaps](heap), in which an application and a daemon share typed messages.
//!
//! **Rejected crates:** `iceoryx2` trusts each process that can map its segments, and `interprocess` has only
//! sockets and pipes; `shmem-ipc` uses these seals too, but carries elements of a fixed size instead of
//! messages, knows no runtime, and was last released in 2022. `rkyv` reads archives in place, which needs
//! memory that no other process writes to.

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod address;
mod base;
mod bell;
mod connection;
mod datapath;
mod handshake;
// A heap's addresses are 64-bit numbers, and its structures are little-endian.
#[cfg(all(target_pointer_width = "64", target_endian = "little"))]
pub mod heap;
mod listener;
mod mapping;
mod memory;
mod reading;
mod sharing;
mod statistics;
mod users;

pub use base::ShmBase;
pub use bertha_ring as ring;
pub use bertha_runtime::polling::Waiting;
pub use bertha_runtime::tokio::Credentials;
pub use connection::ShmConnection;
pub use datapath::Shm;
pub use listener::ShmListener;
pub use memory::sealed_memory;
pub use statistics::ShmStatistics;
pub use users::Users;
