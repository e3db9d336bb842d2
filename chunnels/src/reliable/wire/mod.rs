//! The packet format of [`Reliable`](super::Reliable), without state.
//!
//! ```text
//! check    4 bytes   CRC-32 of all that follows, little-endian; left out over layers that drop damaged messages
//! flags    1 byte    a bit for each of the parts below
//! number   varint    the packet's number, if the packet has to be acknowledged
//! ack      ...       the delay of the newest acknowledged packet, in microseconds; the number of ranges of packet
//!                    numbers less one (1 byte); the newest number; its range's length less one; then for each further
//!                    range the gap before it less one and its length less one. All varints, newest first
//! grant    2 varints the number of messages, and of bytes in them, that the peer may have sent in all
//! last     varint    the total number of messages: the sender closes
//! abort    1 byte    the fault for which the sender refuses the peer
//! marks    2 varints the number of datagrams, and of bytes in them, that arrived with a mark for congestion in all; with
//!                    acknowledgements of an end that counts them
//! messages ...       the number of the first message (varint), then for each its length (varint) and its bytes, up to
//!                    the end of the packet; they are numbered without gaps
//! ```
//!
//! A packet that is larger than some paths carry may leave in pieces, each a datagram of its own with the flag of a piece alone:
//!
//! ```text
//! check    4 bytes   as above
//! flags    1 byte    0x80
//! packet   varint    the number of the packet among those that leave in pieces
//! place    2 bytes   the place of the piece, from zero, and the number of pieces
//! bytes    ...       the next bytes of the packet, up to the end of the datagram
//! ```
//!
//! A varint is that of RFC 9000, section 16. Packet numbers are never used twice; a message keeps its number when it is
//! repeated.

mod check;
mod packet;
mod piece;
mod ranges;
mod reader;
#[cfg(test)]
mod tests;
mod varint;
mod writer;

pub use check::Check;
pub use packet::{Acknowledgement, Fault, Grant, Header, Message, Messages, decode};
pub use piece::{Piece, decode_piece};
pub(super) use piece::{piece_size, room, write_piece};
pub use ranges::{RANGES, Ranges};
#[cfg(test)]
use varint::MAX as VARINT_MAX;
pub(super) use varint::size;
pub(super) use writer::{Draft, OVERHEAD, write};
