//! Files over kernel UDP on loopback: Bertha's transport, against QUIC, TCP, and datagrams that nobody asks for again.
//!
//! As in the thesis (section 3.6.1): a client connects, sends a short request, and is sent a file. What counts is the time from the
//! first request to the last byte of the last file, for all connections together. The server has a core to itself, the client
//! another one; each is one thread. All contenders move the same bytes out of memory and look at none of them on arrival.
//!
//! What a datagram or segment carries decides much, so all get the same [limit](Setup::datagram).

mod bertha;
mod blast;
mod meeting;
mod memory;
mod quic;
mod tcp;

pub use bertha::{Ends, Probe, Transport, over, probe};

use crate::Error;

/// What is moved.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// How many connections there are, each with a file of its own.
    pub connections: usize,
    /// The bytes of a file.
    pub bytes: usize,
    /// The most bytes that UDP carries in a datagram; TCP's segments have as many with their headers.
    pub datagram: usize,
}

/// What an Ethernet frame carries of UDP over IPv6, as over most paths; so much Linux segments and coalesces.
pub const ETHERNET: usize = 1_452;

/// What loopback carries in one piece: its MTU less the headers of IPv4 and UDP, up to IPv4's own limit.
pub const LOOPBACK: usize = 65_507;

/// A way to move files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Contender {
    /// `Ordered / Fragment / Reliable`.
    Bertha,
    /// The same below a Chunnel that does nothing.
    WithNothing,
    /// The same above `Seal`, which encrypts.
    Sealed,
    /// The datapath alone, through a Chunnel that does nothing: datagrams, paced so that none is lost.
    Unreliable,
    /// Datagrams out of a socket in the hand, paced so that none is lost.
    Blast,
    /// The QUIC of `quinn`, which encrypts.
    Quinn,
    /// The kernel's TCP.
    Tcp,
}

impl Contender {
    /// As tables show it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bertha => "Bertha",
            Self::WithNothing => "Bertha with a no-op Chunnel",
            Self::Sealed => "Bertha, encrypted (Seal)",
            Self::Unreliable => "Bertha's datagrams, paced",
            Self::Blast => "raw datagrams, paced",
            Self::Quinn => "quinn (always encrypts)",
            Self::Tcp => "kernel TCP",
        }
    }

    /// Moves the files once. Returns the goodput of all connections together, in bytes per second.
    ///
    /// # Errors
    /// [`Core`](crate::ErrorKind::Core) with fewer than two usable cores, [`Socket`](crate::ErrorKind::Socket) and
    /// [`Bertha`](crate::ErrorKind::Bertha) when a connection fails, [`Stalled`](crate::ErrorKind::Stalled) when no more arrives.
    pub fn run(self, setup: &Setup) -> Result<f64, Error> {
        match self {
            Self::Bertha => bertha::plain(setup),
            Self::WithNothing => bertha::with_nothing(setup),
            Self::Sealed => bertha::sealed(setup),
            Self::Unreliable => bertha::unreliable(setup),
            Self::Blast => blast::run(setup),
            Self::Quinn => quic::run(setup),
            Self::Tcp => tcp::run(setup),
        }
    }
}

/// The request.
const REQUEST: &[u8; 8] = b"the file";

/// How much of a file is handed over at a time, in bytes; less where whole packets are less.
pub const CHUNK: usize = 64 * 1024;

/// A file's bytes, from which all connections send.
fn file(setup: &Setup) -> std::sync::Arc<[u8]> {
    // Quick to make, since the instruction counter counts it.
    vec![7; setup.bytes].into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_moves_every_file() {
        use Contender::{Bertha, Blast, Quinn, Sealed, Tcp, Unreliable, WithNothing};
        if crate::cores::usable().unwrap().len() < 2 {
            return;
        }
        for contender in [Bertha, WithNothing, Sealed, Unreliable, Blast, Quinn, Tcp] {
            for (connections, datagram) in [(1, ETHERNET), (3, LOOPBACK)] {
                let setup = Setup { connections, bytes: 300_000, datagram };
                assert!(contender.run(&setup).unwrap() > 0.0, "{}", contender.name());
            }
        }
    }
}
