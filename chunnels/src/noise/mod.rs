//! Encrypted and authenticated messages between ends that share a key.
//!
//! [`Seal`] encrypts and authenticates each message by itself, and drops replays, so it stands on any connection, at any place of a
//! stack:
//!
//! ```
//! use bertha_chunnels::{Reliable, Seal};
//! use bertha_core::make_stack;
//!
//! # let secret = [7; 32];
//! // Packets are sealed, acknowledgements included.
//! let stack = make_stack!(Reliable::new(), Seal::new(&secret));
//! ```
//!
//! # How it works
//!
//! ChaCha20-Poly1305 (RFC 8439), with a key for each direction of each connection. The keys are derived with HKDF-SHA-256
//! (RFC 5869) from the shared key, the [transcript](bertha_core::ConnectContext::transcript) of the negotiation, and 16 random bytes of
//! each end, its salt. The ends exchange salts in the clear, in a hello message each, when the connection begins. Since both ends
//! contribute, no key is used twice, and recorded messages are never accepted again. Messages are numbered; the number is
//! the nonce, and is authenticated with the message. The receiver remembers at least the last 4,033 numbers, and drops duplicates
//! and later messages. The header has 24 bytes.
//!
//! # Limits
//!
//! There is no forward secrecy: a later leak of the shared key exposes all recorded messages. Lengths, numbers and times
//! are visible.
//!
//! # The agreement
//!
//! With its salt each end proves that it has the key and the transcript (HMAC-SHA-256, RFC 2104). So both refuse the connection if
//! an attacker has altered their negotiation, even without credentials. A weaker stack without `Seal` can't be refused here, but
//! by a [floor](bertha_core::guarantee) or credentials. Without negotiation there is no transcript, and the ends prove the key
//! alone. Each stack of an upgraded connection has a transcript of its own.
//!
//! # Loss
//!
//! Losses, order and backpressure are those of the connection below. Messages that are forged, damaged, repeated or sealed with
//! another key are dropped and counted ([`SealConnection::forged`], [`SealConnection::repeated`]).

mod chunnel;
mod connection;
mod hello;
mod keys;
#[cfg(test)]
mod tests;
pub mod wire;

pub use chunnel::Seal;
pub use connection::SealConnection;
