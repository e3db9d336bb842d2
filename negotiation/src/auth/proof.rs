//! The proof that an offer, an answer or a refusal carries.

use super::identity::SIGNATURE;
use super::reset::TOKEN;
use super::schedule::{MAC, MacKey, hash};
use super::{IdentityKey, PublicKey};
use crate::wire::{self, Kind, PROVEN, Tag, Unreadable, VERSION};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The head of a proof. It stands behind the message and in front of signature and MAC, which cover it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Head {
    /// The nonce, which makes every proof unique.
    pub(super) nonce: [u8; 16],
    /// The sender's half of the key exchange (X25519).
    pub(super) share: Option<[u8; 32]>,
    /// The signer's key, if the message is signed.
    pub(super) signer: Option<[u8; 32]>,
    /// True if the proof has a MAC.
    pub(super) is_sealed: bool,
    /// In an answer, the digest of the token by which the client will recognise a reset of this connection.
    pub(super) reset: Option<[u8; TOKEN]>,
}

/// Returns the hash that identifies an offer, and binds a reply to it.
pub(crate) fn offer_hash(message: &[u8]) -> [u8; 32] {
    hash("bertha 3 offer", &[message])
}

/// Writes a message with its proof. `context` is the hash of the offer to which it replies, or empty.
pub(super) fn prove<M: Serialize>(
    kind: Kind,
    tag: Tag,
    message: &M,
    mut head: Head,
    context: &[u8],
    signer: Option<&IdentityKey>,
    key: Option<&MacKey>,
) -> Result<Vec<u8>, postcard::Error> {
    head.signer = signer.map(|signer| *signer.public().as_bytes());
    head.is_sealed = key.is_some();
    let mut bytes = wire::begin(tag.header(kind), VERSION | PROVEN, &(message, head))?;
    if let Some(signer) = signer {
        bytes.extend(signer.sign(&hash("bertha 3 signature", &[context, &bytes])));
    }
    if let Some(key) = key {
        bytes.extend(key.tag(&[context, &bytes]));
    }
    Ok(wire::checked(bytes))
}

/// A message that was read, and whose proof is not checked yet.
pub(super) struct Claimed<'m, M> {
    pub(super) message: M,
    pub(super) head: Head,
    signed: &'m [u8],
    signature: Option<&'m [u8; SIGNATURE]>,
    sealed: &'m [u8],
    mac: Option<&'m [u8; MAC]>,
}

/// Reads a message with a proof.
///
/// # Errors
/// [`Unproven`](Unreadable::Unproven) if the message has no proof.
pub(super) fn read<M: DeserializeOwned>(message: &[u8]) -> Result<Claimed<'_, M>, Unreadable> {
    let (version, body) = wire::open(message)?;
    if version & PROVEN == 0 {
        return Err(Unreadable::Unproven);
    }
    let ((read, head), proofs) =
        postcard::take_from_bytes::<(M, Head)>(body).map_err(|_| Unreadable::Malformed)?;
    let whole = wire::unchecked(message)?;
    let signed = &whole[..whole.len() - proofs.len()];
    let (signature, rest) = match head.signer {
        Some(_) => {
            proofs.split_first_chunk().map(|(it, rest)| (Some(it), rest)).ok_or(Unreadable::Malformed)?
        }
        None => (None, proofs),
    };
    let sealed = &whole[..whole.len() - rest.len()];
    let mac = match (head.is_sealed, rest) {
        (true, rest) => Some(rest.try_into().map_err(|_| Unreadable::Malformed)?),
        (false, []) => None,
        _ => return Err(Unreadable::Malformed),
    };
    Ok(Claimed { message: read, head, signed, signature, sealed, mac })
}

impl<M> Claimed<'_, M> {
    /// Returns true if the message has a MAC of `key`, or has no MAC and there is no key.
    pub(super) fn is_sealed_with(&self, context: &[u8], key: Option<&MacKey>) -> bool {
        match (key, self.mac) {
            (None, None) => true,
            (Some(key), Some(mac)) => key.is_tag(&[context, self.sealed], mac),
            _ => false,
        }
    }

    /// Returns the trusted key that has signed the message. Signatures of other keys are not verified.
    pub(super) fn signer_among(&self, trusted: &[PublicKey], context: &[u8]) -> Option<PublicKey> {
        let signer = PublicKey::from_bytes(self.head.signer?);
        let signed = hash("bertha 3 signature", &[context, self.signed]);
        (trusted.contains(&signer) && signer.has_signed(&signed, self.signature?)).then_some(signer)
    }
}
