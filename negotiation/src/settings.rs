//! The times and bounds of negotiation.

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
    /// two, at least a tenth of a second, and say four times as often that they are alive.
    pub idle_timeout: Duration,
    /// How many messages that overtake the answer a client keeps; more are dropped and counted.
    pub early_messages: usize,
    /// How many handshakes a server works on at once; further clients wait in the datapath's backlog.
    pub concurrent_handshakes: usize,
    /// How long `close` waits for the peer to see it, per attempt; three attempts are made.
    pub close_timeout: Duration,
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
        }
    }
}
