//! Authentication of the peer's messages.
//!
//! [`Credentials`] define the proofs: by a secret that both ends share, by identity keys, or by both. With
//! them every handshake message carries a proof that its sender has the key and has seen the receiver's
//! earlier messages:
//!
//! * An offer has a MAC under the shared secret, and the client's signature if it has an identity.
//! * An answer or a refusal is bound to the exact bytes of one offer, with a MAC, and with the server's
//!   signature if the client requires it.
//! * From offer and answer both ends derive keys for one connection. All their later messages about the
//!   connection have a counter and a MAC under these keys. The first of these messages is the client's
//!   confirmation, without which the server builds nothing: so a replayed offer has no effect.
//!
//! These proofs do not protect the messages of the application; a Chunnel that protects them binds itself to
//! this agreement by [`Agreement::transcript`](crate::Agreement::transcript). Once the handshake of such a
//! Chunnel is over, keys from it protect the messages about the connection as well, with and without
//! credentials.

mod answering;
mod control_keys;
mod credentials;
mod early;
mod group;
mod handshake_nonce;
mod identity;
mod offering;
mod proof;
mod reset;
mod schedule;
mod secured_stacks;
mod session;
mod shared_key;

pub use credentials::Credentials;
pub use group::GroupKey;
pub(crate) use group::SenderKey;
pub use handshake_nonce::HandshakeNonce;
pub use identity::{IdentityKey, PublicKey};
pub(crate) use session::Proof;
pub use session::Session;
pub use shared_key::SharedKey;

pub(crate) use answering::{Answering, Unanswerable};
pub use early::claim;
#[cfg(test)]
pub(crate) use early::early_in;
pub(crate) use early::with_early;
pub(crate) use handshake_nonce::{NonceByOffer, seed};
pub(crate) use offering::Offering;
pub(crate) use proof::offer_hash;
pub(crate) use schedule::{Keyed, MAC, MacKey, hash};

#[cfg(test)]
mod tests;
