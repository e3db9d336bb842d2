//! Memory that two processes of one machine share, as a Bertha datapath: [`Shm`].
//!
//! Each connection has a memfd with two bounded [rings](ring), one for each direction. The client makes it and hands it over
//! through a Unix socket (`SCM_RIGHTS`); the server takes it only with seals that keep its size. Afterwards the socket carries no
//! messages: a byte on it wakes an end that sleeps, and its hang-up tells of the other end's death. So an end that waits is woken
//! within microseconds of a crash, and the memory is freed with the last of the two mappings.
//!
//! **The other end is hostile.** It may write anything at any time into what it shares. All access is by atomics; each index is
//! read once and checked once; and a message is copied into a [`Buf`](bertha_core::Buf) of this process before anybody looks at
//! it. It is never lent in place: a decoder reads a byte twice, and a `&[u8]` whose bytes change in between is undefined
//! behaviour, so no proof of safety exists. Sleepers are woken by the socket and not by an eventfd, because the two ends of an
//! eventfd share their file flags: the other end could clear `O_NONBLOCK`, fill the counter, and so block this end's next
//! wake-up for ever. The ends of a socket have flags of their own.
//!
//! **Not taken:** `iceoryx2` trusts each process that can map its segments, and `interprocess` has sockets and pipes alone;
//! `shmem-ipc` has the same seals, but carries elements of one size instead of messages, knows no runtime, and was last released
//! in 2022. `rkyv` reads archives in place, which needs memory that nobody else writes to.

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod address;
mod base;
mod bell;
mod connection;
mod credentials;
mod datapath;
mod handshake;
mod listener;
mod mapping;
mod memory;
pub mod ring;
mod sharing;

pub use base::ShmBase;
pub use bertha_polling::Waiting;
pub use connection::ShmConnection;
pub use credentials::{Credentials, Users};
pub use datapath::Shm;
pub use listener::ShmListener;
