//! The derivation and the use of keys.

use super::wire::{self, PROOF, SALT, Sealed, TAG};
use bertha_core::{Error, ErrorKind};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf::{self, HKDF_SHA256, Prk};
use ring::hmac;
use std::fmt;

/// Separates the keys of this Chunnel and version from all other uses of the secret.
const CONTEXT: &[u8] = b"bertha seal 2";

/// The shared key, from which the keys of connections are derived.
pub(super) struct Secret(Prk);

/// The shared key, bound to the transcript of one connection.
pub(super) struct BoundSecret {
    prk: Prk,
    /// The key of the proofs of salts.
    proving: hmac::Key,
}

/// The keys of one end of a connection.
pub(super) struct Keys {
    sending: LessSafeKey,
    receiving: LessSafeKey,
}

impl Secret {
    pub(super) fn new(key: &[u8; 32]) -> Self {
        Self(hkdf::Salt::new(HKDF_SHA256, CONTEXT).extract(key))
    }

    /// An identifier of the key that reveals nothing else about it.
    pub(super) fn id(&self) -> [u8; 8] {
        struct Eight;
        impl hkdf::KeyType for Eight {
            fn len(&self) -> usize {
                8
            }
        }
        let mut id = [0; 8];
        // Fails for lengths beyond 255 hashes alone.
        let _ = self.0.expand(&[b"id"], Eight).and_then(|bytes| bytes.fill(&mut id));
        id
    }

    /// Binds the key to a transcript, or to its absence.
    pub(super) fn bind(&self, transcript: Option<[u8; 32]>) -> BoundSecret {
        let transcript = transcript.as_ref().map_or(&[][..], |transcript| transcript);
        let bound = |label: &[u8]| {
            let mut bytes = [0; 32];
            // Fails for lengths beyond 255 hashes alone.
            let _ = self.0.expand(&[label, transcript], HKDF_SHA256).and_then(|okm| okm.fill(&mut bytes));
            bytes
        };
        BoundSecret {
            prk: Prk::new_less_safe(HKDF_SHA256, &bound(b"bond")),
            proving: hmac::Key::new(hmac::HMAC_SHA256, &bound(b"proof")),
        }
    }
}

impl BoundSecret {
    /// The proof that the sender of `salt` has the key and the transcript.
    pub(super) fn proof(&self, salt: [u8; SALT]) -> [u8; PROOF] {
        let mut proof = [0; PROOF];
        proof.copy_from_slice(hmac::sign(&self.proving, &salt).as_ref());
        proof
    }

    /// Whether `proof` is the proof of `salt`, in constant time.
    pub(super) fn is_proof(&self, salt: [u8; SALT], proof: &[u8; PROOF]) -> bool {
        hmac::verify(&self.proving, &salt, proof).is_ok()
    }

    /// The keys of the end with the salt `ours`, whose peer has the salt `theirs`. The peer's keys are the same, swapped.
    ///
    /// # Errors
    /// None in practice: HKDF fails for lengths beyond 255 hashes alone.
    pub(super) fn keys(&self, ours: [u8; SALT], theirs: [u8; SALT]) -> Result<Keys, Error> {
        Ok(Keys { sending: self.key(ours, theirs)?, receiving: self.key(theirs, ours)? })
    }

    /// The key of the messages from the end with the salt `from`.
    fn key(&self, from: [u8; SALT], to: [u8; SALT]) -> Result<LessSafeKey, Error> {
        let info = [b"messages", &from[..], &to[..]];
        let expanded = self.prk.expand(&info, &CHACHA20_POLY1305);
        expanded
            .map(|key| LessSafeKey::new(UnboundKey::from(key)))
            .map_err(|_| Error::new(ErrorKind::Invalid, "no key can be derived for this cipher").at("Seal"))
    }
}

impl Keys {
    /// Encrypts `message` in place. A number must not be used twice, since it is the nonce.
    ///
    /// # Errors
    /// [`TooLarge`](ErrorKind::TooLarge) beyond 256 GiB, the limit of the cipher.
    #[inline]
    pub(super) fn seal(&self, number: u64, message: &mut [u8]) -> Result<[u8; TAG], Error> {
        let aad = Aad::from(wire::associated(number));
        let sealed = self.sending.seal_in_place_separate_tag(nonce(number), aad, message);
        let tag = sealed.ok().and_then(|tag| tag.as_ref().try_into().ok());
        tag.ok_or_else(|| {
            Error::new(ErrorKind::TooLarge, "the cipher takes no message of this length").at("Seal")
        })
    }

    /// Decrypts `message` in place. Returns whether it is authentic; if not, its content is arbitrary.
    #[inline]
    pub(super) fn open(&self, sealed: Sealed, message: &mut [u8]) -> bool {
        let aad = Aad::from(wire::associated(sealed.number));
        let (nonce, tag) = (nonce(sealed.number), sealed.tag.into());
        self.receiving.open_in_place_separate_tag(nonce, aad, tag, message, 0..).is_ok()
    }
}

fn nonce(number: u64) -> Nonce {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&number.to_le_bytes());
    Nonce::assume_unique_for_key(nonce)
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_opens_what_the_other_seals_and_nothing_else() {
        let secret = Secret::new(&[7; 32]);
        let bound = secret.bind(Some([5; 32]));
        let (here, there) = (bound.keys([1; 16], [2; 16]).unwrap(), bound.keys([2; 16], [1; 16]).unwrap());
        let mut message = *b"message";
        let tag = here.seal(5, &mut message).unwrap();
        assert_ne!(&message, b"message");
        let sealed = Sealed { number: 5, tag };
        let opened =
            |keys: &Keys, sealed, mut message: [u8; 7]| keys.open(sealed, &mut message).then_some(message);
        assert_eq!(opened(&there, sealed, message), Some(*b"message"));
        // Sent back to its sender, with another number, tag, content, salt, transcript or secret.
        assert_eq!(opened(&here, sealed, message), None);
        assert_eq!(opened(&there, Sealed { number: 6, tag }, message), None);
        assert_eq!(opened(&there, Sealed { number: 5, tag: [0; TAG] }, message), None);
        assert_eq!(opened(&there, sealed, *b"massage"), None);
        assert_eq!(opened(&bound.keys([2; 16], [3; 16]).unwrap(), sealed, message), None);
        let other = Secret::new(&[8; 32]);
        for bound in [secret.bind(Some([6; 32])), secret.bind(None), other.bind(Some([5; 32]))] {
            assert_eq!(opened(&bound.keys([2; 16], [1; 16]).unwrap(), sealed, message), None);
        }
        assert_ne!(secret.id(), other.id());
    }

    #[test]
    fn a_salt_is_proved_with_the_key_and_the_transcript() {
        let secret = Secret::new(&[7; 32]);
        let bound = secret.bind(Some([5; 32]));
        let proof = bound.proof([1; SALT]);
        assert!(secret.bind(Some([5; 32])).is_proof([1; SALT], &proof));
        assert!(!bound.is_proof([2; SALT], &proof));
        let other = Secret::new(&[8; 32]);
        for bound in [secret.bind(Some([6; 32])), secret.bind(None), other.bind(Some([5; 32]))] {
            assert!(!bound.is_proof([1; SALT], &proof));
        }
    }
}
