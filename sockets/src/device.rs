//! The words between a program and the daemon that carries its connections by a stack of Bertha.
//!
//! ```text
//!  program                                                       daemon
//!     | -- hello; the place; the settings; the TCP socket ---------> |
//!     | <----- reply; the carrier, or the queue of a listener ------ |
//! ```
//!
//! **The carrier** is one end of a pair of Unix sockets, and takes the place of the program's TCP socket. Until the connection is made, it
//! is full of zeros, so nobody can write: this is how the kernel shows a connection that is not there yet. Then the daemon takes the
//! zeros out, having given its own end a [`name`] that tells the addresses. If there is no connection, it writes one byte, the
//! number of the error, and closes its end without taking the zeros, which the kernel shows as an error.
//!
//! **The end** of a direction is the end of the carrier's direction. A program that ends its direction first sends two bytes, and with
//! the first of them a descriptor. The daemon leaves the second unread until the connection has ended in order, so a cut is a reset: of
//! what is closed with bytes unread the kernel says so. A program that has not ended its direction learns of a cut from an end of both.
//!
//! **The queue** of a listener is one end of a pair, too, that keeps the bounds of messages. Each message is a new connection: two places,
//! of the listener's end and of the peer, and the carrier.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The hello of a program that connects.
pub const CONNECT: [u8; 8] = *b"bersock>";

/// The hello of a program that listens.
pub const LISTEN: [u8; 8] = *b"bersock<";

/// The bytes of a place.
pub const PLACE: usize = 18;

/// The bytes of a request behind the hello, and before the settings.
pub const HEAD: usize = PLACE + 2;

/// The most bytes of settings.
pub const SETTINGS: usize = 3 << 10;

/// The bytes of a reply.
pub const REPLY: usize = 8;

/// The bytes of a message of the queue.
pub const ARRIVED: usize = 2 * PLACE;

/// The beginning of the name of the daemon's end, behind the zero of names that are no files.
const NAME: &[u8; 14] = b"bertha-device/";

/// The bytes of a name: behind the places there are eight that make it the only one.
pub const NAME_BYTES: usize = 1 + NAME.len() + 2 * PLACE + 8;

/// An address, with the bytes of IPv6, and a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The address. That of IPv4 is in the form of IPv6.
    pub ip: [u8; 16],
    /// The port.
    pub port: u16,
}

impl Place {
    /// Writes the place.
    pub fn encode(self) -> [u8; PLACE] {
        let mut bytes = [0; PLACE];
        bytes[..16].copy_from_slice(&self.ip);
        bytes[16..].copy_from_slice(&self.port.to_be_bytes());
        bytes
    }

    /// Reads a place from the first bytes.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (ip, rest) = bytes.split_first_chunk()?;
        Some(Self { ip: *ip, port: u16::from_be_bytes(*rest.first_chunk()?) })
    }
}

impl From<SocketAddr> for Place {
    fn from(address: SocketAddr) -> Self {
        let ip = match address.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        Self { ip: ip.octets(), port: address.port() }
    }
}

impl From<Place> for SocketAddr {
    fn from(place: Place) -> Self {
        Self::new(IpAddr::V6(Ipv6Addr::from(place.ip)).to_canonical(), place.port)
    }
}

/// Writes what comes behind the hello and before the settings.
pub fn head(place: Place, settings: u16) -> [u8; HEAD] {
    let mut bytes = [0; HEAD];
    bytes[..PLACE].copy_from_slice(&place.encode());
    bytes[PLACE..].copy_from_slice(&settings.to_le_bytes());
    bytes
}

/// Reads what comes behind the hello: the place, and the bytes of the settings.
pub fn read_head(bytes: &[u8; HEAD]) -> Option<(Place, usize)> {
    let length = usize::from(u16::from_le_bytes(*bytes.last_chunk()?));
    (length <= SETTINGS).then_some((Place::decode(bytes)?, length))
}

/// The reply of the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// The daemon does it; a descriptor comes with the reply.
    Taken,
    /// The daemon does not, and the call fails with this error.
    Failed(i32),
}

impl Reply {
    /// Writes the reply.
    pub fn encode(self) -> [u8; REPLY] {
        let mut bytes = [0; REPLY];
        match self {
            Self::Taken => bytes[0] = 1,
            Self::Failed(error) => bytes[4..].copy_from_slice(&error.to_le_bytes()),
        }
        bytes
    }

    /// Reads a reply. One that is unknown is a failure without a number.
    pub fn decode(bytes: &[u8; REPLY]) -> Self {
        match bytes {
            [1, ..] => Self::Taken,
            _ => Self::Failed(bytes.last_chunk().map_or(0, |error| i32::from_le_bytes(*error))),
        }
    }
}

/// Returns the name of the daemon's end, which tells the two addresses of the program's end. `unique` makes it the only one.
pub fn name(local: Place, peer: Place, unique: u64) -> [u8; NAME_BYTES] {
    let mut bytes = [0; NAME_BYTES];
    bytes[1..1 + NAME.len()].copy_from_slice(NAME);
    bytes[1 + NAME.len()..][..PLACE].copy_from_slice(&local.encode());
    bytes[1 + NAME.len() + PLACE..][..PLACE].copy_from_slice(&peer.encode());
    bytes[1 + NAME.len() + 2 * PLACE..].copy_from_slice(&unique.to_ne_bytes());
    bytes
}

/// Reads a name: the address of the program's end, and that of its peer.
pub fn places_of(name: &[u8]) -> Option<[Place; 2]> {
    let places = name.strip_prefix(&[0])?.strip_prefix(NAME)?;
    if name.len() != NAME_BYTES {
        return None;
    }
    Some([Place::decode(places)?, Place::decode(places.get(PLACE..)?)?])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        for text in ["127.0.0.1:7000", "[2001:db8::1]:1"] {
            let address: SocketAddr = text.parse().unwrap();
            let place = Place::from(address);
            assert_eq!(SocketAddr::from(Place::decode(&place.encode()).unwrap()), address);
            let peer = Place { port: 9, ..place };
            assert_eq!(places_of(&name(place, peer, 7)), Some([place, peer]));
            assert_eq!(places_of(&name(place, peer, 7)[1..]), None);
            assert_eq!(read_head(&head(place, 3072)), Some((place, 3072)));
            assert_eq!(read_head(&head(place, 3073)), None);
        }
        for reply in [Reply::Taken, Reply::Failed(111)] {
            assert_eq!(Reply::decode(&reply.encode()), reply);
        }
    }
}
