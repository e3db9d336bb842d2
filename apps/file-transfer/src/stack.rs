//! The stacks that carry the messages.
//!
//! Over datagrams a file needs three Chunnels; over a stream the datapath itself makes these promises. The
//! stack follows from the datapath, so both ends have to choose equal datapaths; otherwise negotiation
//! reports it.

use crate::Message;
use crate::message::CHUNK;
use bertha::chunnels::{Fragment, Ordered, Postcard, Reliable, Serialize, Tls};
use bertha::core::{Bottom, Stack};
use bertha::prelude::*;
use std::time::Duration;

/// The stack over a datapath that loses nothing and keeps the order.
pub type OverStreams = Stack<Serialize<Message, Postcard>, Bottom>;

/// The stack over a datapath that promises nothing, with a transport that repeats lost packets.
pub type OverDatagrams<Transport> =
    Stack<Serialize<Message, Postcard>, Stack<Ordered, Stack<Fragment, Transport>>>;

/// Name of the message format for negotiation. It has to be changed with the messages.
const SCHEMA: &str = "file-transfer-2";

/// Size of the largest message: a chunk and the fields around it.
const LARGEST: u32 = CHUNK as u32 + 64;

/// Bytes and messages in each buffer of Reliable. It may deliver as many packets before a packet that was
/// sent earlier.
const BUFFER: (usize, usize) = (4 << 20, 4_096);

/// Time after which old packets are dropped: longer than the longest time-out of a transport, which repeats
/// lost packets until then.
const EXPIRY: Duration = Duration::from_secs(2 * 24 * 60 * 60);

/// Returns the stack without further Chunnels.
pub fn over_streams() -> OverStreams {
    make_stack!(messages())
}

/// Returns the stack with packets of up to `packet` bytes, which `transport` carries: [`reliable`], or QUIC,
/// which splits messages itself.
pub fn over_datagrams<Transport>(packet: usize, transport: Transport) -> OverDatagrams<Transport> {
    // The headers of Reliable and of the pieces take 52 bytes.
    let piece = packet.saturating_sub(52);
    let memory = BUFFER.1 * (packet + 512);
    let fragment = Fragment::new().limit(LARGEST).piece(piece).assembly(memory).expiry(EXPIRY);
    Stack::new(messages(), Stack::new(Ordered::new(), Stack::new(fragment, transport)))
}

/// Returns the stack with TLS, which splits messages itself, above a datapath that loses nothing and keeps
/// the order.
pub fn encrypted_over_streams(tls: Tls) -> Stack<Serialize<Message, Postcard>, Stack<Tls, Bottom>> {
    make_stack!(messages(), tls)
}

/// Returns the stack with TLS above a transport that repeats lost packets.
pub fn encrypted_over_datagrams<Transport>(
    tls: Tls,
    transport: Transport,
) -> Stack<Serialize<Message, Postcard>, Stack<Tls, Stack<Ordered, Transport>>> {
    Stack::new(messages(), Stack::new(tls, Stack::new(Ordered::new(), transport)))
}

/// Returns Bertha's own transport, which gives up a peer that is silent for `timeout`.
pub fn reliable(packet: usize, timeout: Duration) -> Reliable {
    Reliable::new().packet(packet).buffer(BUFFER.0, BUFFER.1).idle_timeout(timeout)
}

fn messages() -> Serialize<Message, Postcard> {
    Serialize::new().schema(SCHEMA)
}
