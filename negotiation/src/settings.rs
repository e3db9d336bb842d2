//! The times and bounds of negotiation.

use crate::{Credentials, memory};
use bertha_core::guarantee::{self, AtMostOnce, IntegrityChecked, Ordered, Reliable, Set};
use std::time::Duration;

/// The guarantees about the delivery of messages, which a change of stacks may lose by default.
pub(crate) const DELIVERY: Set = Set::of::<((Reliable, Ordered), (AtMostOnce, IntegrityChecked))>();

/// The memory that a connection is taken to need, in bytes.
const CONNECTION: usize = 16 << 10;

/// The times and bounds of negotiation and of the connections that it makes. Both ends may differ.
///
/// | setting | default | | setting | default |
/// |---|---|---|---|---|
/// | `repeat_after` | 100 ms | | `floor` | none |
/// | `handshake_timeout` | 10 s | | `unvalidated_clients` | 32 |
/// | `idle_timeout` | 30 s | | `offers_per_second` | 10,000 |
/// | `early_messages` | 64 | | `first_flight` | 16 |
/// | `concurrent_handshakes` | 2,048 | | `first_flight_delay` | 1 ms |
/// | `connections` | 1 for each 64 KiB of memory | | `early_data` | false |
/// | `close_timeout` | 100 ms | | `remembered_flights` | 65,536 |
/// | `drain_timeout` | 250 ms | | `may_lose` | delivery |
/// | `credentials` | none | | `close_wait` | 300 ms |
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// The time that a client waits for an answer before it repeats its offer. The time doubles with every
    /// repetition.
    pub repeat_after: Duration,
    /// The time that a client waits for the connection of the datapath and for an answer, together; its Chunnels have
    /// time limits of their own. A server waits as long for the offer of a stream, for a confirmation, and for the
    /// Chunnels of a stack to get ready.
    pub handshake_timeout: Duration,
    /// The time without a message from the peer after which a waiting `recv` fails. Both ends use the smaller
    /// of their two times, at least a tenth of a second, and each end sends six keep-alives in that time.
    /// Keep-alives are not answered.
    pub idle_timeout: Duration,
    /// The number of messages that a client keeps if they overtake the answer. Further messages are dropped
    /// and counted.
    pub early_messages: usize,
    /// The maximum number of handshakes of a server at once, from accepting a client until its stack is
    /// ready, and at most a quarter of the [descriptors](bertha_core::Listener::capacity) of the process.
    /// Clients with unvalidated addresses have other places: at most `unvalidated_clients`.
    ///
    /// When all places are taken, a handshake that has waited for its peer for too long is given up for the
    /// next client, which [`Incoming::overload`](crate::Incoming::overload) counts. At first a twentieth of
    /// the `handshake_timeout` is too long. The more of such waiting is in vain, the shorter this time is,
    /// down to twice the time that finished handshakes needed, 50 ms at least. As long as all handshakes make
    /// progress, further streams wait to be accepted. A network that has more than a quarter of the places
    /// gives a place up for a client of another network at once.
    pub concurrent_handshakes: usize,
    /// The maximum number of connections of a server, and at most three quarters of the
    /// [descriptors](bertha_core::Listener::capacity) of the process. A further client takes the place of a
    /// connection of the network that has the most, if that is more than a quarter and not the client's own
    /// network, and if no message has come over that connection for a second. Otherwise the client is
    /// refused, which is an item of [`Incoming`](crate::Incoming) of kind
    /// [`Exhausted`](bertha_core::ErrorKind::Exhausted) at both ends. By default a quarter of the machine's
    /// memory holds the connections with 16 KiB each.
    pub connections: usize,
    /// The time between two attempts to tell the peer of a `close`, of which there are three. Over a datapath
    /// that loses messages, a task makes the attempts. Over a reliable datapath, `close` waits for the
    /// attempts, and then as long again until the datapath has handed over all messages; otherwise it fails
    /// with [`TimedOut`](bertha_core::ErrorKind::TimedOut).
    pub close_timeout: Duration,
    /// The time for which `close` waits for a peer that does something else than receive, over a datapath that
    /// [delivers alone](bertha_core::Base::delivers_alone), such as TCP. A task waits behind it, so long as the
    /// runtime lives: a system resets a stream whose end is gone while the peer still sends.
    ///
    /// The default leaves a busy peer some time if the program ends behind its close. A program whose runtime
    /// lives on, or that closes many connections one after another, can do with a few milliseconds.
    pub close_wait: Duration,
    /// The time that a change of stacks waits for messages that were sent before it and don't arrive, after
    /// the last message that did, as long as the application receives. Only a base that loses messages, or a
    /// `send` that was cancelled, makes a change wait so long.
    ///
    /// Receivers also wait so long for this end's sends before the change, if the peer does not receive them.
    /// They then go on in the new stack, and sends wait until the peer has received the messages before the
    /// change.
    pub drain_timeout: Duration,
    /// The proof that this end gives of itself, and the proof that it asks of the peer.
    pub credentials: Credentials,
    /// The guarantees that the stack must have on this end, whatever the peer offers or picks, such as
    /// `Set::of::<Encrypted>()`. Alternatives below the floor are neither offered nor picked, and no Chunnel
    /// below the floor is built. The guarantees of the datapath count. A guarantee that a Chunnel
    /// [withdraws](guarantee) counts if a Chunnel above that Chunnel gives it.
    pub floor: guarantee::Set,
    /// The guarantees that a change of stacks may lose without a word of this end's application, whichever
    /// end proposes it. A change that would lose another guarantee of the stack in use is declined with the
    /// name of the guarantee. An application that [proposes](crate::Pick::losing) such a change says so.
    ///
    /// By default these are `Reliable`, `Ordered`, `AtMostOnce` and `IntegrityChecked`: applications at both
    /// ends see from the messages how they are delivered. The applications do not see who reads the messages,
    /// or who sent them, so a change loses no other guarantee, such as `Encrypted`, unless both ends allow
    /// it.
    pub may_lose: guarantee::Set,
    /// The number of clients with unvalidated addresses from which on a server demands cookies. From half of
    /// the number on, a stack is built for a client only once the client has confirmed its address, which
    /// takes no further round trip; beyond the number, each further client first returns a cookie, which
    /// takes a round trip. With identities, which take signatures, it is also the maximum number of offers a
    /// second that unvalidated addresses may make without cookies: while there are more, each client returns
    /// a cookie, and no signature is spent on an offer without a cookie. 0 demands cookies always, and
    /// `usize::MAX` never. Addresses that can't be forged, such as the addresses of streams and Unix sockets,
    /// don't count, nor do clients that have confirmed.
    pub unvalidated_clients: usize,
    /// The number of offers that a server takes per second from a network: the first 24 bits of an IPv4
    /// address, the first 56 bits of an IPv6 address. It holds twice: for clients that proved their address,
    /// and for clients that did not, which are asked to prove it when there are more. Further offers are
    /// dropped and counted.
    pub offers_per_second: u32,
    /// The maximum number of messages of a client's first flight, if the client [connects
    /// early](crate::Connect::early). Further messages wait for the answer. The first flight holds fewer
    /// messages if they don't fit into a message of the datapath.
    pub first_flight: usize,
    /// The time that a client that connects early waits for the first message before it makes its offer
    /// without a message.
    pub first_flight_delay: Duration,
    /// True if a server takes messages that arrive with an offer. Such messages are not forward secret, and a
    /// restart of the server can have a message received twice; see
    /// [`Connect::early`](crate::Connect::early).
    pub early_data: bool,
    /// The number of first flights that a server remembers, so that it takes no flight twice. The server
    /// remembers each flight for half a minute to a minute; while it remembers so many, it takes no further
    /// flight early.
    pub remembered_flights: usize,
}

bertha_core::setters!(Settings {
    repeat_after: Duration,
    handshake_timeout: Duration,
    idle_timeout: Duration,
    early_messages: usize,
    concurrent_handshakes: usize,
    connections: usize,
    close_timeout: Duration,
    close_wait: Duration,
    drain_timeout: Duration,
    credentials: Credentials,
    floor: guarantee::Set,
    may_lose: guarantee::Set,
    unvalidated_clients: usize,
    offers_per_second: u32,
    first_flight: usize,
    first_flight_delay: Duration,
    early_data: bool,
    remembered_flights: usize,
});

impl Default for Settings {
    fn default() -> Self {
        Self {
            repeat_after: Duration::from_millis(100),
            handshake_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(30),
            early_messages: 64,
            concurrent_handshakes: 2048,
            connections: memory::bytes() / 4 / CONNECTION,
            close_timeout: Duration::from_millis(100),
            close_wait: Duration::from_millis(300),
            drain_timeout: Duration::from_millis(250),
            credentials: Credentials::default(),
            floor: guarantee::Set::NONE,
            may_lose: DELIVERY,
            unvalidated_clients: 32,
            offers_per_second: 10_000,
            first_flight: 16,
            first_flight_delay: Duration::from_millis(1),
            early_data: false,
            remembered_flights: 65_536,
        }
    }
}
