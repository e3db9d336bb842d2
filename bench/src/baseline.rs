//! The programs that Bertha is measured against, written by hand on sockets.
//!
//! They do what a good programmer would do who needs this one program and nothing else: no layer, no negotiation, no
//! allocation that can be avoided.

pub mod echo_std;
pub mod echo_tokio;
pub mod kv_raw;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// The loopback address with a port that the system chooses.
const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// The size of an echoed message in bytes.
pub const ECHO_BYTES: usize = 64;

/// How long all echoes together may take. Longer means that a datagram was lost, for which nobody sends another.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How many echoes to make.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// Echoes before the first that counts.
    pub warm_up: usize,
    /// Echoes that count.
    pub measured: usize,
}

/// What an end does while it waits for the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// It sleeps until the kernel wakes it.
    Park,
    /// It asks again and again.
    Spin,
}
