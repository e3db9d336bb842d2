//! Messages that nobody on the way can read, change or repeat, between ends that share a key.
//!
//! [`Seal`] encrypts and authenticates each message by itself, so it stands on any connection, at any place of a stack:
//!
//! ```
//! use bertha_chunnels::{Reliable, Seal};
//! use bertha_core::make_stack;
//!
//! # let secret = [7; 32];
//! // Packets are sealed, acknowledgements and all.
//! let stack = make_stack!(Reliable::new(), Seal::new(&secret));
//! ```
//!
//! # How it works
//!
//! ChaCha20-Poly1305 (RFC 8439), with a key for each direction of each connection. The keys are derived with HKDF-SHA-256
//! (RFC 5869) from the shared key, the [transcript](bertha_core::ConnectContext::transcript) of the negotiation, and 16 random bytes of
//! each end, which the ends tell each other in the clear when the connection begins. Since both ends add some, no key is used
//! twice, and nothing that was recorded is accepted again. A message is numbered; the number is the nonce, and is authenticated with the message. The receiver remembers the last 4,033
//! numbers and drops what comes twice or later than that. In front of a message stand 24 bytes.
//!
//! # What it does not do
//!
//! Who learns the shared key can read what was recorded before: there is no forward secrecy. Lengths, numbers and times are
//! visible.
//!
//! # The agreement
//!
//! With its random bytes each end shows that it has the key and the transcript (HMAC-SHA-256, RFC 2104). So if somebody has
//! altered what the ends said to agree on this stack, even without credentials, they refuse the connection; a weaker stack that
//! has no `Seal` in it can't be refused here, but by a [floor](bertha_core::guarantee) or credentials. Without negotiation there is
//! no transcript, and the ends show the key alone. A stack that takes another's place has a transcript of its own.
//!
//! # Loss
//!
//! Losses, order and backpressure are those of the connection below. What is forged, damaged, repeated or sealed with another
//! key is dropped and counted ([`SealConnection::forged`], [`SealConnection::repeated`]).

mod chunnel;
mod connection;
mod greeting;
mod keys;
#[cfg(test)]
mod tests;
pub mod wire;

pub use chunnel::Seal;
pub use connection::SealConnection;
