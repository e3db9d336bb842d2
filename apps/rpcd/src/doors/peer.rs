//! Other daemons: those that call services of this machine, and those of the machines that serve.
//!
//! A daemon that calls opens a connection for a service and a schema. It says hello as an application does, and hears one byte, zero, or a
//! one with the reason of a refusal. Then each message is a descriptor, and behind it the structure that it names, as
//! [`Frame`](bertha_schemas::Frame) reads it. All calls of a daemon's applications to a service share the connection.

mod dial;
mod greeting;
mod listen;
pub mod testing;
mod tls_in_turns;

use crate::admission::grpc_tls::GrpcTls;
use crate::destinations::peer_addr::PeerAddr;
use crate::destinations::route_list::Routes;
use bertha::chunnels::Tls;
use bertha::kernel;
#[cfg(feature = "dpdk")]
use bertha_datapath_dpdk as dpdk;
pub(crate) use dial::dial;
pub(crate) use listen::{Listening, listen};
use std::net::SocketAddr;
#[cfg(feature = "dpdk")]
use std::time::Duration;

/// Number of bytes of the longest message between daemons: a request of any size that is passed on, with its descriptor.
const LONGEST: usize = (64 << 20) + (4 << 10);

/// Time after which a daemon at a DPDK port is given up that owes an answer. No kernel says that it is gone.
#[cfg(feature = "dpdk")]
const OWING: Duration = Duration::from_secs(10);

/// Silence after which one that owes nothing is asked whether it is still there, so that a call that it works on ends after as long.
#[cfg(feature = "dpdk")]
const SILENT: Duration = Duration::from_secs(2);

/// The callers and servers of other machines.
#[derive(Debug, Clone)]
pub struct Peers {
    /// The address at which other daemons connect. None do without one.
    pub listen: Option<PeerAddr>,
    /// The ways to servers of other machines, by the names of services. An application of this machine that serves goes before.
    pub routes: Vec<(String, Routes)>,
    /// The address at which callers of gRPC connect. None do without one.
    pub grpc: Option<SocketAddr>,
    /// TLS for gRPC.
    pub grpc_tls: GrpcTls,
    /// TLS, which both ends then demand of each other. Without it anyone who reaches the address may call.
    pub tls: Option<PeerTls>,
    /// Number of connections that an address may have at each of the two ports, of 1,024 for all, or fewer where descriptors are few: of IPv6,
    /// a network in which a sender has many addresses. At most a quarter of the places, as by default. Further ones are closed.
    pub per_address: usize,
}

impl Default for Peers {
    fn default() -> Self {
        Self {
            listen: None,
            routes: Vec::new(),
            grpc: None,
            grpc_tls: GrpcTls::default(),
            tls: None,
            per_address: 256,
        }
    }
}

/// TLS between daemons, each of which shows a certificate.
#[derive(Debug, Clone)]
pub struct PeerTls {
    /// The part of the daemon that is connected.
    pub server: Tls,
    /// The part of the daemon that connects.
    pub client: Tls,
}

/// Returns TCP through the kernel.
fn kernel_tcp() -> kernel::Tcp {
    kernel::Tcp::new().largest(LONGEST)
}

/// Returns TCP over the DPDK port that the environment describes.
#[cfg(feature = "dpdk")]
fn dpdk_tcp() -> dpdk::Tcp {
    dpdk::Tcp::new().largest(LONGEST).timeout(OWING).keep_alive(Some(SILENT))
}
