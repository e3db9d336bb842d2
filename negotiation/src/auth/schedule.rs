//! The derivation of the keys from the secrets: HKDF (RFC 5869) with SHA-256, each key with a label of its own.

use super::SharedKey;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use std::fmt;
use zeroize::Zeroizing;

/// MACs are HMAC-SHA-256, cut to the left half (RFC 2104 section 5).
pub(crate) use crate::wire::MAC;

/// Separates these keys from keys that other protocols derive from the same secrets.
const SALT: &[u8] = b"bertha negotiation 3";

/// A key for MACs, and for deriving further keys.
#[derive(Clone)]
pub(crate) struct MacKey(Zeroizing<[u8; 32]>);

impl MacKey {
    pub(crate) fn new(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Applies HKDF-Extract to the secrets of both kinds. The first byte says which kinds are present, so
    /// that neither is taken for the other.
    pub(super) fn extract(shared: Option<&SharedKey>, agreed: Option<&[u8; 32]>) -> Self {
        let mut mac = keyed(SALT);
        mac.update(&[u8::from(shared.is_some()) | u8::from(agreed.is_some()) << 1]);
        mac.update(shared.map_or(&[][..], |key| key.bytes()));
        mac.update(agreed.map_or(&[][..], |agreed| agreed));
        Self(Zeroizing::new(mac.finalize().into_bytes().into()))
    }

    /// Applies HKDF-Extract to the secret of the credentials, if any, and the key that the stack's secure
    /// Chunnel exports. The first byte separates the result from the result of [`extract`](Self::extract).
    pub(super) fn extract_secured(secret: Option<&Self>, control: &[u8; 32]) -> Self {
        let mut mac = keyed(SALT);
        mac.update(&[4 | u8::from(secret.is_some())]);
        mac.update(secret.map_or(&[][..], |secret| secret.bytes()));
        mac.update(control);
        Self(Zeroizing::new(mac.finalize().into_bytes().into()))
    }

    /// Applies HKDF-Expand for one block: returns the key with this `label`, in the given context.
    pub(crate) fn derive(&self, label: &str, context: &[u8]) -> Self {
        Self(Zeroizing::new(
            self.mac(&[label.as_bytes(), &[0], context, &[1]]).finalize().into_bytes().into(),
        ))
    }

    /// Computes the MAC of a message in parts, of which all but one have lengths that the label fixes.
    pub(crate) fn tag(&self, parts: &[&[u8]]) -> [u8; MAC] {
        shortened(self.mac(parts))
    }

    /// Returns true if `tag` is the MAC of the parts. It runs in constant time.
    pub(crate) fn is_tag(&self, parts: &[&[u8]], tag: &[u8; MAC]) -> bool {
        self.mac(parts).verify_truncated_left(tag).is_ok()
    }

    /// Returns the key with its own part of a MAC computed, for many short messages.
    pub(crate) fn keyed(&self) -> Keyed {
        Keyed(keyed(&*self.0))
    }

    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    fn mac(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = keyed(&*self.0);
        parts.iter().for_each(|part| mac.update(part));
        mac
    }
}

/// A key for MACs alone.
#[derive(Clone)]
pub(crate) struct Keyed(Hmac<Sha256>);

impl Keyed {
    /// Works as [`MacKey::tag`].
    pub(crate) fn tag(&self, parts: &[&[u8]]) -> [u8; MAC] {
        shortened(self.mac(parts))
    }

    /// Works as [`MacKey::is_tag`].
    pub(crate) fn is_tag(&self, parts: &[&[u8]], tag: &[u8; MAC]) -> bool {
        self.mac(parts).verify_truncated_left(tag).is_ok()
    }

    fn mac(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        parts.iter().for_each(|part| mac.update(part));
        mac
    }
}

fn shortened(mac: Hmac<Sha256>) -> [u8; MAC] {
    let whole: [u8; 32] = mac.finalize().into_bytes().into();
    let mut tag = [0; MAC];
    tag.copy_from_slice(&whole[..MAC]);
    tag
}

impl fmt::Debug for Keyed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keyed(..)")
    }
}

impl fmt::Debug for MacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MacKey(..)")
    }
}

#[expect(clippy::expect_used, reason = "HMAC takes keys of every length (RFC 2104 section 3)")]
fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("a key of any length")
}

/// Computes SHA-256 over a label, and over parts with their lengths.
pub(crate) fn hash(label: &str, parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(label.as_bytes());
    hash.update([0]);
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}
