//! [DPDK](https://www.dpdk.org) ports as a Bertha datapath: [`Dpdk`], datagrams (UDP over IPv4 and IPv6) by a network stack
//! in user space, [`bertha-netstack`](bertha_netstack).
//!
//! With the feature `tcp` there is `Tcp` beside it: streams over the same port, for peers that speak TCP.
//!
//! A received datagram is the buffer that the driver filled; headers of Chunnels and of the network go into the room in front
//! of a message, so one travels between application and driver without a copy and without an allocation.
//!
//! # Who polls
//!
//! Nobody tells when a frame has arrived: the port is asked. By default ([`Polling::Inline`]) the futures that wait for
//! messages ask, the one that began to wait last on behalf of all, in whichever thread it runs; so a server whose tasks run in one
//! thread runs each message to completion there. A thread of the datapath's own looks after the port where no future does: it
//! answers neighbours and pings, and hands the polling on, within a millisecond. With [`Polling::Thread`] that thread polls all
//! the time, and futures wait in the usual way.
//!
//! # Where DPDK is missing
//!
//! The crate builds everywhere. Where the build found no DPDK, opening a port answers
//! [`Unavailable`](bertha_core::ErrorKind::Unavailable) and says what to install.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod base;
mod catch;
mod claim;
mod config;
mod connection;
mod counters;
mod datapath;
mod demux;
mod device;
mod eal;
mod failure;
mod keeper;
mod listener;
mod mbuf;
mod memif;
mod pool;
mod port;
mod sending;
mod state;
mod steering;
#[cfg(feature = "tcp")]
mod tcp;
mod visit;

pub use base::DpdkBase;
/// Whether the build found a DPDK to link.
pub use bertha_dpdk_sys::AVAILABLE;
pub use bertha_netstack::{MacAddr, Offload, Subnet};
pub use bertha_runtime_tokio::{Task, TokioRuntime};
pub use config::{Checksums, Config, Polling};
pub use connection::DpdkConnection;
pub use counters::{Counters, QueueCounters};
pub use datapath::Dpdk;
pub use listener::DpdkListener;
pub use mbuf::{Burst, Packet};
pub use pool::Pool;
pub use port::{Port, PortStatistics};
#[cfg(feature = "tcp")]
pub use tcp::{Tcp, TcpBase, TcpConnection, TcpListener};
