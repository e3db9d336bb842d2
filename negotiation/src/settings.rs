//! The times and bounds of negotiation.

use crate::Credentials;
use bertha_core::guarantee;
use std::time::Duration;

/// The times and bounds of negotiation and of the connections that it makes. Both ends may differ.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// How long a client waits for an answer before it repeats its offer; doubled with every repetition.
    pub repeat_after: Duration,
    /// How long a client waits for an answer altogether.
    pub handshake_timeout: Duration,
    /// How long nothing may be heard from the peer before a waiting `recv` fails. Both ends use the smaller of their
    /// two, at least a tenth of a second, and send six signs of life in that time.
    pub idle_timeout: Duration,
    /// How many messages that overtake the answer a client keeps; more are dropped and counted.
    pub early_messages: usize,
    /// How many handshakes a server works on at once; further clients wait in the datapath's backlog.
    pub concurrent_handshakes: usize,
    /// The time between two attempts to tell the peer of a `close`, of which there are three. Over a datapath that loses
    /// messages a task makes them. Over a reliable one `close` waits for them, and then as long again until the datapath has
    /// handed over all messages; else it fails with [`TimedOut`](bertha_core::ErrorKind::TimedOut).
    pub close_timeout: Duration,
    /// How long a change of stacks waits for messages that were sent before it and don't arrive, after the last one that
    /// did. Only a base that loses messages, or a `send` that was cancelled, makes it wait so long.
    pub drain_timeout: Duration,
    /// What this end proves itself with and what it asks of the other; nothing at first.
    pub credentials: Credentials,
    /// What the stack must guarantee on this end, whatever the other says: `Set::of::<Encrypted>()`. Alternatives that
    /// can't reach it are neither offered nor picked, and nothing is built of what lies below it. What the datapath
    /// guarantees counts. Nothing at first.
    pub floor: guarantee::Set,
    /// How many clients a server has that have not shown that their address is their own. From half of it on clients
    /// have to confirm before anything is built for them, which takes no further round trip; once there are so many
    /// that have yet to do so, each further one has to return a cookie first, which takes one. 0: always;
    /// `usize::MAX`: never. Addresses that nobody can pretend to have, those of streams and Unix sockets, don't count.
    pub unproven_clients: usize,
    /// How many offers a server takes per second from one network: the first 24 bits of an IPv4 address, the first 56
    /// of an IPv6 address. It holds twice, for clients that showed that their address is their own, and for the
    /// others, which are asked to do so when there are more; after that, offers are dropped and counted.
    pub offers_per_second: u32,
    /// How many messages a client sends in its first flight at most, if it [connects early](crate::Connect::early);
    /// further ones wait for the answer. Fewer if they don't fit into one message of the datapath.
    pub first_flight: usize,
    /// How long a client that connects early waits for the first message before it makes its offer without one.
    pub first_flight_delay: Duration,
    /// Whether a server takes messages that come with an offer. An attacker can replay them; see
    /// [`Connect::early`](crate::Connect::early).
    pub early_data: bool,
    /// How many offers from whose first flights it took messages a server remembers, so that it doesn't take them once
    /// more. Each is remembered for half a minute to a minute; while there are so many, it takes no others early.
    pub remembered_flights: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            repeat_after: Duration::from_millis(100),
            handshake_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(30),
            early_messages: 64,
            concurrent_handshakes: 256,
            close_timeout: Duration::from_millis(100),
            drain_timeout: Duration::from_millis(250),
            credentials: Credentials::default(),
            floor: guarantee::Set::NONE,
            unproven_clients: 256,
            offers_per_second: 10_000,
            first_flight: 16,
            first_flight_delay: Duration::from_millis(1),
            early_data: true,
            remembered_flights: 65_536,
        }
    }
}
