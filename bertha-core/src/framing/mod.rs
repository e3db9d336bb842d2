//! Messages on a stream of bytes: each is preceded by its length in four bytes, big-endian.
//!
//! All datapaths over TCP frame messages in this way, so that a client over one datapath works with a server
//! over another. Secure streams and `LengthFramed` use the format as well.
//!
//! The parser does no I/O. It has two entrances: [`Frames`] reads a stream into buffers of its own and splits
//! messages off them, for a datapath; [`Deframer`] takes bytes that are in memory already, for a Chunnel. Both
//! hold at most one partial message, in memory that grows as its bytes arrive.

mod deframer;
mod foreign;
mod frames;
mod length;

pub use deframer::Deframer;
pub use frames::Frames;
pub use length::{HEADER, TooLarge, header};
