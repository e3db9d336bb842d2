//! [DPDK](https://www.dpdk.org) ports as a Bertha datapath: [`Dpdk`], datagrams (UDP over IPv4 and IPv6) by a network stack
//! in user space, [`bertha-netstack`](bertha_netstack).
//!
//! With the feature `tcp`, there is `Tcp` too: streams over the port, for peers that speak TCP.
//!
//! A received datagram is the buffer that the driver filled; headers of Chunnels and of the network go into
//! the room in front of a message. So a message travels between application and driver without a copy and
//! without an allocation.
//!
//! # Polling
//!
//! A port does not report the arrival of frames: it is polled. By default ([`Polling::Inline`]) waiting
//! futures poll. The future that began to wait last does so on behalf of all, in the thread where it runs; so
//! a server whose tasks run in a single thread runs each message to completion there. A thread of the
//! datapath polls when no future does: within a millisecond it answers neighbours and pings, and promotes
//! another future. With [`Polling::Thread`], threads of the datapath poll all the time, and futures wait in
//! the usual way.
//!
//! # Where DPDK is missing
//!
//! The crate builds everywhere. Where the build found no DPDK, opening a port fails with
//! [`Unavailable`](bertha_core::ErrorKind::Unavailable), and the error says what to install.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod base;
mod claim;
mod config;
mod connection;
mod counters;
mod datapath;
mod device;
mod eal;
mod ecn;
mod failure;
mod listener;
mod marked;
mod mbuf;
mod memif;
mod open;
mod poll_thread;
mod pool;
mod port;
mod progress;
mod queue;
mod raw_port;
mod reach;
mod slot;
mod statistics;
#[cfg(feature = "tcp")]
mod tcp;

pub use base::DpdkBase;
/// True if the build found a DPDK to link.
pub use bertha_dpdk_sys::AVAILABLE;
pub use bertha_netstack::{MacAddr, Offload, Subnet};
pub use bertha_runtime::tokio::{Task, TokioRuntime};
pub use config::{Checksums, Config, Polling};
pub use connection::DpdkConnection;
pub use counters::{Counters, QueueCounters};
pub use datapath::Dpdk;
pub use listener::DpdkListener;
pub use mbuf::{Burst, Packet};
pub use pool::Pool;
pub use port::PortStatistics;
pub use raw_port::Port;
pub use statistics::DpdkStatistics;
#[cfg(feature = "tcp")]
pub use tcp::{Tcp, TcpBase, TcpConnection, TcpListener};
