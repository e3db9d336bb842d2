//! Messages in a stream of bytes.
//!
//! A datapath that carries bytes ([`Chunk`](bertha_core::Chunk)s), such as `Tcp::bytes()` of the kernel
//! datapath, does not keep the bounds of messages. A framing Chunnel directly above it keeps them, in a
//! format that the peer knows:
//!
//! | Chunnel | messages | a message on the stream |
//! |---|---|---|
//! | [`LengthFramed`] | [`Buf`](bertha_core::Buf) | its length in four bytes, big-endian, and its bytes |
//! | [`LineFramed`] | `String` | its text and a line feed |
//! | `CodecFramed`, feature `codec` | the codec's messages | as a `tokio_util::codec` writes it |
//! | [`Framed`] | the messages of a [`Framing`] | as the `Framing` writes it |
//!
//! ```
//! use bertha_chunnels::LineFramed;
//! use bertha_core::{Connection, Error, Wrap, make_stack};
//! # async fn example(bytes: impl Connection<Data = bertha_core::Chunk>) -> Result<(), Error> {
//! let lines = make_stack!(LineFramed::new()).wrap(bytes).await?;
//! lines.send("PING".into()).await?;
//! assert_eq!(lines.recv().await?, "PONG");
//! # Ok(())
//! # }
//! ```
//!
//! [`LengthFramed::over`] makes a datapath of messages from any datapath of bytes, over which stacks are
//! negotiated.
//!
//! The end of the stream between two messages is [`Closed`](bertha_core::ErrorKind::Closed); within a
//! message, or where bytes do not follow the format so that no later message can be found, it is
//! [`Reset`](bertha_core::ErrorKind::Reset). Sending goes on after it, since the peer may have ended its own
//! half alone. `close` ends this half of the stream behind the last message.

#[cfg(feature = "codec")]
mod codec;
mod connection;
mod datapath;
mod format;
mod framed;
mod length;
mod line;
#[cfg(test)]
mod tests;

#[cfg(feature = "codec")]
pub use codec::{CodecDecoder, CodecFormat, CodecFramed};
pub use connection::FramedConnection;
pub use datapath::{LengthFramedDatapath, LengthFramedListener};
pub use format::{Deframe, Framing};
pub use framed::Framed;
pub use length::{LengthDecoder, LengthFormat, LengthFramed};
pub use line::{LineDecoder, LineFormat, LineFramed};
