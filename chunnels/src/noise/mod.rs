//! Encrypted and authenticated messages between two ends that know each other's keys.
//!
//! [`Noise`] carries out a handshake of the Noise protocol framework (revision 34), encrypts and authenticates each message by
//! itself, and drops replays. So it stands on any connection, at any place of a stack:
//!
//! ```
//! use bertha_chunnels::{Noise, NoiseKey, Reliable};
//! use bertha_core::make_stack;
//!
//! # let [client_secret, server_secret, shared] = [[7; 32], [8; 32], [9; 32]];
//! # let server_public = NoiseKey::from_bytes(server_secret).public();
//! // Packets are encrypted, acknowledgements included. Each end has a key pair and knows the other's public
//! // key.
//! let client = make_stack!(Reliable::new(), Noise::client(NoiseKey::from_bytes(client_secret), server_public));
//!
//! // Or both ends have one secret.
//! let stack = make_stack!(Reliable::new(), Noise::shared(&shared));
//! ```
//!
//! # Guarantees
//!
//! | | [`shared`](Noise::shared) | [`client`](Noise::client) and [`server`](Noise::server) |
//! |---|---|---|
//! | pattern | `NNpsk0` | `IK` |
//! | messages are read and made by | ends that have the key | these two ends |
//! | the other end is known | no | yes: `PeerIdentified` |
//! | a later leak of all long-term keys | exposes no recorded message | exposes no recorded message, but the client's public key |
//! | a stolen key of one end | lets the thief be either end | lets the thief be that end |
//!
//! The protocols are `Noise_NNpsk0_25519_AESGCM_SHA256` and `Noise_IK_25519_AESGCM_SHA256`. Lengths, numbers
//! and times of messages are visible, and so is an identifier of the shared key or of the server's key.
//!
//! # The agreement
//!
//! The [transcript](bertha_core::ConnectContext::transcript) of the negotiation, or its absence, is the
//! prologue of the handshake. So both ends refuse the connection before any data if an attacker has altered
//! their negotiation, even without credentials. This handshake can't refuse a weaker stack without `Noise`; a
//! [floor](bertha_core::guarantee) or credentials can. Each stack of an upgraded connection has a transcript,
//! and so a handshake, of its own. Messages about the connection are authenticated with a key that is derived
//! from the keys of the handshake.
//!
//! The client of the negotiation begins the handshake. Without negotiation, an end with a server's keys
//! answers, and any other end begins.
//!
//! # The handshake
//!
//! The initiator repeats its initiation, after 50 milliseconds and then after twice as long each time, until
//! a response arrives. It may then send at once, and repeats a confirmation until it has received a message.
//! The responder answers each initiation, sends nothing on its own, and is ready with the first authentic
//! message: a replayed initiation never makes a connection. It keeps up to four handshakes, and one message
//! that arrives before the confirmation. A useless message may be forged, so the ends wait for a genuine
//! message for another second before they fail.
//!
//! # Keys
//!
//! Each direction has a key of its own. Messages are numbered; the number is the nonce. After each 2^22
//! messages the next key is made from the last key (`REKEY`, section 4.2 of the specification); the number
//! identifies the key of a message, so loss and reordering do no harm. Late messages are decrypted with the
//! key before the current key. After 2^26 lost messages in a row, later messages count as forged. The
//! receiver remembers at least the last 4,033 numbers, and drops duplicates and older messages. The header
//! has 24 bytes; see [`wire`].
//!
//! # Loss
//!
//! Losses, order and backpressure are those of the connection below. Messages that are forged, damaged, repeated or encrypted
//! with another key are dropped and counted ([`NoiseConnection::forged`], [`NoiseConnection::repeated`]).

mod chunnel;
mod configuration;
mod connection;
mod exchange;
mod handshake;
mod key;
mod keychain;
mod primitives;
mod session;
#[cfg(test)]
mod tests;
pub mod wire;

pub use chunnel::Noise;
pub use connection::NoiseConnection;
pub use key::NoiseKey;

/// The target of the events for `tracing`.
const TARGET: &str = "bertha::noise";
