//! Reliable messages over a connection that loses, repeats, reorders and damages them.
//!
//! [`Reliable`] runs over any connection that carries [`Buf`](bertha_core::Buf)s:
//!
//! ```
//! use bertha_chunnels::Reliable;
//! use bertha_chunnels::congestion::Bbr;
//! use std::time::Duration;
//!
//! let reliable = Reliable::new().with(Bbr).idle_timeout(Duration::from_secs(10));
//! ```
//!
//! # Guarantees
//!
//! Every message arrives, once and undamaged, or the connection fails. A message is delivered as soon as it arrives: a lost message
//! delays no other message, so **order is not kept**. Put [`Ordered`](crate::Ordered) above it where order matters.
//!
//! # How it works
//!
//! Packets are numbered and acknowledged selectively; round-trip time, loss and time-outs follow RFC 9002. Short messages
//! that wait to be sent share a packet. A [congestion control](crate::congestion) sets window and rate, and
//! packets are paced. With [`ecn`](Reliable::ecn), acknowledgements also say how many packets arrived with a mark for congestion, and
//! the congestion control is told. Each end grants the other a number of messages and bytes, so both buffer a bounded amount; see
//! [`Reliable::buffer`]. The protocol is a state machine without I/O. One task per connection moves packets between it
//! and the connection below, and ends when the connection is dropped. If the runtime ends first, calls fail with
//! [`Closed`](bertha_core::ErrorKind::Closed).
//!
//! # Closing
//!
//! `close` waits until the peer has every message. The peer first receives those messages, and then that the
//! connection was closed. A connection that is dropped without `close` sends nothing more. The peer then gets what has arrived, and behind
//! that [`Reset`](bertha_core::ErrorKind::Reset) where a layer below reports the end, as negotiation does, and
//! [`TimedOut`](bertha_core::ErrorKind::TimedOut) where none does. So [`Closed`](bertha_core::ErrorKind::Closed) means that nothing is
//! missing. An end that is dropped behind the peer's close still tells the peer, in the background, that all has arrived.
//!
//! # Faulty peers
//!
//! Damaged packets are dropped and counted; a CRC shows them, unless an agreed layer below, such as one that encrypts, is
//! [`IntegrityChecked`](bertha_core::guarantee::IntegrityChecked) by itself. A peer that acknowledges packets that were not sent, exceeds its grant or contradicts
//! its own close is refused: calls fail with
//! [`Malformed`](bertha_core::ErrorKind::Malformed), and at the peer with
//! [`Reset`](bertha_core::ErrorKind::Reset). With a silent peer, calls fail with
//! [`TimedOut`](bertha_core::ErrorKind::TimedOut). Calls also fail so if a message does not arrive for the idle time-out although the
//! peer is heard; the error has the number and the length of the message.
//!
//! # Defaults
//!
//! | setting | default |
//! |---|---|
//! | congestion control ([`with`](Reliable::with)) | [`Bbr`](crate::congestion::Bbr) |
//! | [`buffer`](Reliable::buffer), each way | 4 MiB and 4,096 messages |
//! | [`packet`](Reliable::packet) | 1,352 bytes |
//! | [`idle_timeout`](Reliable::idle_timeout) | 30 seconds |
//! | marks for congestion ([`ecn`](Reliable::ecn)) | off |
//! | a qlog of each connection (`qlog`, with the feature `qlog`) | off |
//! | largest message | 64 KiB, and the largest message below less 25 bytes; fixed |

mod chunnel;
mod connection;
mod machine;
#[cfg(feature = "qlog")]
mod qlog;
pub(crate) mod settings;
mod statistics;
mod target;
mod task;
pub mod wire;

pub use chunnel::Reliable;
pub use connection::ReliableConnection;
#[cfg(feature = "qlog")]
pub use qlog::Qlog;
pub use statistics::ReliableStatistics;
