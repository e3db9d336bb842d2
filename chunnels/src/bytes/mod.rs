//! A stream of bytes over messages.
//!
//! [`Bytes`] makes a connection of bytes ([`Chunk`](bertha_core::Chunk)s) from a connection that carries
//! messages reliably and in order: for programs that need a stream, over any stack. It is the reverse of a
//! framing Chunnel.
//!
//! Each message is a chunk. The empty message is the end of a stream, so that the peer can distinguish an end
//! that has died from an end that has finished.

mod chunnel;
mod connection;
#[cfg(test)]
mod tests;

pub use chunnel::Bytes;
pub use connection::BytesConnection;
