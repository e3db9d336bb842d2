//! The words on the carrier of a socket of datagrams.
//!
//! The carrier is one end of a pair of Unix sockets that keeps the bounds of messages (`SOCK_SEQPACKET`), and takes the place of the program's UDP
//! socket. Each message is a head of [`HEAD`] bytes, and behind it the bytes of a datagram, if it is one. The daemon's end has a
//! [`name`](crate::device::name), which tells the address of the socket, and of no peer.

use crate::device::{PLACE, Place};

/// The hello of a program that has a socket of datagrams; the place behind it is the address to have, whose port may be zero.
pub const DATAGRAMS: [u8; 8] = *b"bersock:";

/// The bytes of a head.
pub const HEAD: usize = PLACE + 2;

/// The bytes of the longest datagram.
pub const LONGEST: usize = 65_507;

/// No place: that of a socket without a peer.
pub const NOWHERE: Place = Place { ip: [0; 16], port: 0 };

/// The head of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Head {
    /// A datagram, to or from this place.
    Datagram(Place),
    /// The program has datagrams of this place alone from now on; [`NOWHERE`] stands for all.
    Peer(Place),
    /// The next call of the program fails with this error.
    Failed(u16),
}

impl Head {
    /// Writes the head.
    pub fn encode(self) -> [u8; HEAD] {
        let (kind, place) = match self {
            Self::Datagram(place) => (1, place),
            Self::Peer(place) => (2, place),
            Self::Failed(error) => (3, Place { port: error, ..NOWHERE }),
        };
        let mut bytes = [0; HEAD];
        bytes[0] = kind;
        bytes[2..].copy_from_slice(&place.encode());
        bytes
    }

    /// Reads a head from the first bytes of a message. Returns `None` for one that is unknown or cut.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let head: &[u8; HEAD] = bytes.first_chunk()?;
        let place = Place::decode(&head[2..])?;
        match head[..2] {
            [1, 0] => Some(Self::Datagram(place)),
            [2, 0] => Some(Self::Peer(place)),
            [3, 0] => Some(Self::Failed(place.port)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_as_they_are_written() {
        let place = Place { ip: [7; 16], port: 513 };
        for head in [Head::Datagram(place), Head::Peer(place), Head::Peer(NOWHERE), Head::Failed(111)] {
            let bytes = head.encode();
            assert_eq!(Head::decode(&bytes), Some(head));
            assert_eq!(Head::decode(&bytes[..HEAD - 1]), None);
            for wrong in [[0, bytes[1]], [4, bytes[1]], [bytes[0], 1]] {
                let mut all = bytes;
                all[..2].copy_from_slice(&wrong);
                assert_eq!(Head::decode(&all), None);
            }
        }
    }
}
