//! The program `bertha-bench throughput`: files over kernel UDP on loopback by Bertha's transport, against
//! QUIC, TCP, and raw datagrams without retransmission.
//!
//! As in the thesis (section 3.6.1), a client connects, sends a short request, and receives a file. The time
//! counts from the first request to the last byte of the last file, for all connections together. The server
//! has a core to itself, and so has the client; each is a single thread. All contenders move equal bytes out
//! of memory and look at none of them on arrival. The size of datagrams and segments decides much, so all get
//! an equal [limit](Setup::datagram).

mod bertha;
mod blast;
#[cfg(feature = "caladan")]
mod caladan;
mod figure;
#[cfg(feature = "dpdk")]
mod memif;
mod memory;
#[cfg(feature = "dpdk")]
mod ports;
mod probe;
#[cfg(feature = "quic")]
mod quic;
mod rows;
mod tcp;
#[cfg(feature = "tls")]
mod tls;
mod unrepaired;

pub(crate) use bertha::by_names;
#[cfg(feature = "caladan")]
pub(crate) use caladan::{Options as CaladanOptions, run as over_caladan};
pub(crate) use probe::probe;
pub(crate) use rows::{Options, run};

use crate::Error;

/// The files of a transfer.
#[derive(Clone, Copy, Debug)]
struct Setup {
    /// Number of connections, each with a file of its own.
    connections: usize,
    /// Number of bytes in a file.
    bytes: usize,
    /// Largest number of bytes that UDP carries in a datagram; TCP's segments have as many with their
    /// headers.
    datagram: usize,
}

/// Size of the largest datagram on loopback: its MTU less the headers of IPv4 and UDP, up to IPv4's own
/// limit.
const LOOPBACK: usize = 65_507;

/// A way to move files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Contender {
    /// The stack `Ordered / Fragment / Reliable`.
    Bertha,
    /// The stack of `Bertha` below a Chunnel that does nothing.
    WithNothing,
    /// The stack of `Bertha` above `Noise`, which encrypts.
    Encrypted,
    /// The QUIC of `quinn`, which encrypts.
    #[cfg(feature = "quic")]
    Quinn,
    /// `Tls` over the kernel's TCP.
    #[cfg(feature = "tls")]
    Tls,
    /// TLS over the kernel's TCP by hand, with `tokio-rustls`.
    #[cfg(feature = "tls")]
    TokioRustls,
    /// The kernel's TCP.
    Tcp,
    /// Datagrams from a socket by hand, paced so that none is lost.
    Raw,
}

impl Contender {
    const ALL: &[Self] = &[
        Self::Bertha,
        Self::WithNothing,
        Self::Encrypted,
        #[cfg(feature = "quic")]
        Self::Quinn,
        #[cfg(feature = "tls")]
        Self::Tls,
        #[cfg(feature = "tls")]
        Self::TokioRustls,
        Self::Tcp,
        Self::Raw,
    ];

    /// Returns the name in tables.
    fn name(self) -> &'static str {
        match self {
            Self::Bertha => "Bertha",
            Self::WithNothing => "Bertha with a no-op Chunnel",
            Self::Encrypted => "Bertha, encrypted (Noise)",
            #[cfg(feature = "quic")]
            Self::Quinn => "quinn (always encrypts)",
            #[cfg(feature = "tls")]
            Self::Tls => "Bertha, Tls over kernel TCP",
            #[cfg(feature = "tls")]
            Self::TokioRustls => "tokio-rustls over kernel TCP",
            Self::Tcp => "kernel TCP",
            Self::Raw => "raw datagrams, paced, without acknowledgements",
        }
    }

    /// Moves the files once. Returns the goodput of all connections together, in bytes per second.
    ///
    /// # Errors
    /// [`Core`](crate::ErrorKind::Core) with fewer than two usable cores, [`Socket`](crate::ErrorKind::Socket) and
    /// [`Bertha`](crate::ErrorKind::Bertha) when a connection fails, [`Stalled`](crate::ErrorKind::Stalled) when no more
    /// arrives.
    fn run(self, setup: &Setup) -> Result<f64, Error> {
        match self {
            Self::Bertha => bertha::plain(setup),
            Self::WithNothing => bertha::with_nothing(setup),
            Self::Encrypted => bertha::encrypted(setup),
            #[cfg(feature = "quic")]
            Self::Quinn => quic::run(setup),
            #[cfg(feature = "tls")]
            Self::Tls => tls::bertha(setup),
            #[cfg(feature = "tls")]
            Self::TokioRustls => tls::by_hand(setup),
            Self::Tcp => tcp::run(setup),
            Self::Raw => blast::run(setup),
        }
    }
}

/// The content of the request.
const REQUEST: &[u8; 8] = b"the file";

/// Number of bytes of a file that are passed on at a time; fewer if whole packets are fewer.
const CHUNK: usize = 64 * 1024;

/// Returns a file's bytes, from which all connections send. The bytes are quick to make, since the
/// instruction counter counts it.
fn file(setup: &Setup) -> std::sync::Arc<[u8]> {
    vec![7; setup.bytes].into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::ETHERNET;

    #[test]
    fn every_contender_moves_every_file() {
        if crate::harness::usable().unwrap().len() < 2 {
            return;
        }
        for contender in Contender::ALL {
            for (connections, datagram) in [(1, ETHERNET), (3, LOOPBACK)] {
                let setup = Setup { connections, bytes: 300_000, datagram };
                assert!(contender.run(&setup).unwrap() > 0.0, "{}", contender.name());
            }
        }
    }

    #[test]
    fn every_probe_runs() {
        for name in ["udp", "udp-nothing", "udp-noise", "memory", "memory-checked", "memory-nothing"] {
            probe(name, 3).unwrap().unwrap();
        }
        #[cfg(feature = "tls")]
        for name in ["tls", "tokio-rustls"] {
            probe(name, 3).unwrap().unwrap();
        }
        assert!(probe("other", 3).is_none());
    }
}
