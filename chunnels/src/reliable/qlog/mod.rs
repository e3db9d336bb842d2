//! The qlog of a connection, with the feature `qlog`: its packets, losses, window and round-trip times, for tools that draw them.
//!
//! The records are those of the drafts `draft-ietf-quic-qlog-main-schema-14` and `draft-ietf-quic-qlog-quic-events-13`, as JSON text
//! sequences (RFC 7464). They have lengths, numbers and times, and never the bytes of a message.
//!
//! | of `Reliable` | in the qlog |
//! |---|---|
//! | packet that has to be acknowledged | packet of type `1RTT` with its number |
//! | packet of acknowledgements alone | packet of type `1RTT` without a number |
//! | acknowledgement, with marks for congestion | frame `ack` with the newest four ranges, and `ce` |
//! | messages of a packet | one frame `datagram`, and at the event `first_message`, `messages` if there are several, and `repeated_messages` |
//! | grant | frame `max_data`, and at the event `granted_messages` |
//! | close, and refusal of a faulty peer | frame `connection_close` |
//! | packet that only asks for an acknowledgement | frame `ping` |
//!
//! [`Log`] has the records of one connection; `packets`, `metrics` and `states` write them into `json`. `sink` takes them to a file or to
//! a callback. The machine tells [`Log`] what happens, with the time: nothing here reads a clock but the name of a file and its header.

mod file;
mod header;
mod json;
mod log;
mod measures;
mod metrics;
mod packets;
mod setting;
mod sink;
mod states;
mod wall_clock;

pub(super) use log::Log;
pub(super) use measures::Metrics;
pub(super) use packets::SentMessages;
pub use setting::Qlog;
pub(super) use states::{End, Parameters};
