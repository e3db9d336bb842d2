//! Keys by which an end is recognised without a shared secret, and the exchange that gives two such ends a
//! shared secret.

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use std::fmt;
use std::sync::Arc;
use subtle::ConstantTimeEq;
use x25519_dalek::StaticSecret;
use zeroize::Zeroizing;

/// A signing key of an end: an Ed25519 key (RFC 8032).
///
/// It is cheap to clone, since all clones share one secret, which is overwritten when the last clone is
/// dropped. It is compared in constant time, and `Debug` shows it without its secret.
#[derive(Clone)]
pub struct IdentityKey(Arc<SigningKey>);

impl IdentityKey {
    /// Makes the key of this seed: 32 bytes from a good source of randomness, to be kept as the secret.
    pub fn from_seed(seed: [u8; 32]) -> Self {
        Self(Arc::new(SigningKey::from_bytes(&Zeroizing::new(seed))))
    }

    /// Returns the public key, by which peers recognise this end.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key().to_bytes())
    }

    pub(super) fn seed(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.0.to_bytes())
    }

    pub(super) fn sign(&self, message: &[u8]) -> [u8; SIGNATURE] {
        self.0.sign(message).to_bytes()
    }
}

impl PartialEq for IdentityKey {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

impl Eq for IdentityKey {}

impl fmt::Debug for IdentityKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdentityKey({})", self.public())
    }
}

/// The public half of an [`IdentityKey`]. Its `Display` has 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey([u8; 32]);

/// The length of a signature, in bytes.
pub(super) const SIGNATURE: usize = 64;

impl PublicKey {
    /// Makes the key of these bytes (RFC 8032 section 5.1.2).
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the key.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns true if the holder of this key has signed `message`. Bytes that are no key have signed
    /// nothing.
    pub(super) fn has_signed(&self, message: &[u8], signature: &[u8; SIGNATURE]) -> bool {
        VerifyingKey::from_bytes(&self.0)
            .is_ok_and(|key| key.verify_strict(message, &Signature::from_bytes(signature)).is_ok())
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

/// An end's half of a key exchange (X25519, RFC 7748), for one handshake.
pub(super) struct Ephemeral(StaticSecret);

impl Ephemeral {
    pub(super) fn new(secret: [u8; 32]) -> Self {
        Self(StaticSecret::from(*Zeroizing::new(secret)))
    }

    /// Returns the public half, for the peer.
    pub(super) fn share(&self) -> [u8; 32] {
        x25519_dalek::PublicKey::from(&self.0).to_bytes()
    }

    /// Returns the shared secret, or `None` if the peer sent a point for which everyone knows the secret.
    pub(super) fn agree(&self, theirs: &[u8; 32]) -> Option<Zeroizing<[u8; 32]>> {
        let agreed = self.0.diffie_hellman(&x25519_dalek::PublicKey::from(*theirs));
        agreed.was_contributory().then(|| Zeroizing::new(agreed.to_bytes()))
    }
}

impl fmt::Debug for Ephemeral {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ephemeral(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_is_shown() {
        let key = IdentityKey::from_seed([7; 32]);
        let shown = format!("{key:?} {:?} {:?}", Ephemeral::new([7; 32]), crate::SharedKey::new([7; 32]));
        assert!(!shown.contains("0707") && !shown.contains("7, 7"), "{shown}");
        assert!(shown.contains(&key.public().to_string()), "{shown}");
    }

    #[test]
    fn a_point_of_small_order_agrees_on_nothing() {
        assert!(Ephemeral::new([7; 32]).agree(&[0; 32]).is_none());
    }

    #[test]
    fn a_signature_is_of_one_key_and_one_message() {
        let (one, other) = (IdentityKey::from_seed([1; 32]), IdentityKey::from_seed([2; 32]));
        let signature = one.sign(b"message");
        assert!(one.public().has_signed(b"message", &signature));
        assert!(!one.public().has_signed(b"massage", &signature));
        assert!(!other.public().has_signed(b"message", &signature));
        assert!(!PublicKey::from_bytes([0; 32]).has_signed(b"message", &[0; 64]));
    }
}
