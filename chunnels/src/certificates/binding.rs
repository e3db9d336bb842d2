//! The binding of an agreement to the channel that TLS has made, by keys that only its two ends can export
//! (RFC 8446, section 7.5; RFC 9266 for the purpose).
//!
//! Each end sends a proof of the agreement's transcript before any data, and checks the proof of the other
//! end: an HMAC-SHA-256 (RFC 2104) of the sender's role. Its key is exported with the transcript as the
//! context. So ends with different transcripts have different keys, a proof that is sent back to its sender
//! has the wrong role, and a proof of another connection, a resumed connection included, has another key.

use bertha_core::Error;
use ring::hmac::{HMAC_SHA256, Key, sign, verify};

/// The label of the key for proofs of the agreement.
const AGREEMENT: &[u8] = b"EXPORTER-bertha-agreement";

/// The label of the key for messages about the connection.
const CONTROL: &[u8] = b"EXPORTER-bertha-control";

/// The bytes of a proof.
pub(crate) const PROOF: usize = 32;

/// The exporter of a connection: fills the bytes for a label and a context.
pub(crate) trait Exporter: FnMut(&mut [u8; 32], &[u8], &[u8]) -> Result<(), Error> {}

impl<F: FnMut(&mut [u8; 32], &[u8], &[u8]) -> Result<(), Error>> Exporter for F {}

/// The proofs of the two ends.
pub(crate) struct Proofs {
    key: Key,
    is_client: bool,
}

impl Proofs {
    /// Computes the proofs of this transcript, on the connection of `export`.
    pub(crate) fn new(
        mut export: impl Exporter,
        transcript: &[u8; 32],
        is_client: bool,
    ) -> Result<Self, Error> {
        let mut key = [0; 32];
        export(&mut key, AGREEMENT, transcript)?;
        Ok(Self { key: Key::new(HMAC_SHA256, &key), is_client })
    }

    /// Returns the proof that this end sends.
    pub(crate) fn ours(&self) -> [u8; PROOF] {
        let mut proof = [0; PROOF];
        proof.copy_from_slice(sign(&self.key, role(self.is_client)).as_ref());
        proof
    }

    /// Returns true if `proof` is the proof of the other end. It runs in constant time.
    pub(crate) fn is_theirs(&self, proof: &[u8]) -> bool {
        verify(&self.key, role(!self.is_client), proof).is_ok()
    }
}

fn role(is_client: bool) -> &'static [u8] {
    if is_client { b"client" } else { b"server" }
}

/// Exports the key for messages about the connection, which both ends export.
pub(crate) fn control_key(
    mut export: impl Exporter,
    transcript: Option<&[u8; 32]>,
) -> Result<[u8; 32], Error> {
    let mut key = [0; 32];
    export(&mut key, CONTROL, transcript.map_or(&[], |transcript| transcript))?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an exporter as RFC 8446 defines it: other bytes for each secret, label and context.
    fn exporter(secret: u8) -> impl Exporter {
        move |into: &mut [u8; 32], label: &[u8], context: &[u8]| {
            let key = Key::new(HMAC_SHA256, &[secret]);
            into.copy_from_slice(sign(&key, &[label, b"|", context].concat()).as_ref());
            Ok(())
        }
    }

    fn proofs(secret: u8, transcript: u8, is_client: bool) -> Proofs {
        Proofs::new(exporter(secret), &[transcript; 32], is_client).unwrap()
    }

    #[test]
    fn each_end_accepts_the_others_proof_of_the_same_transcript_on_the_same_connection() {
        let (client, server) = (proofs(1, 5, true), proofs(1, 5, false));
        assert!(server.is_theirs(&client.ours()) && client.is_theirs(&server.ours()));
        assert!(!client.is_theirs(&client.ours()) && !server.is_theirs(&server.ours()), "reflected");
        for other in [proofs(2, 5, false), proofs(1, 6, false)] {
            assert!(!client.is_theirs(&other.ours()), "of another connection or transcript");
        }
        let mut altered = server.ours();
        altered[31] ^= 1;
        assert!(!client.is_theirs(&altered) && !client.is_theirs(&altered[..31]) && !client.is_theirs(&[]));
    }

    #[test]
    fn both_ends_have_one_control_key_for_each_transcript() {
        let key = |secret, transcript: Option<u8>| {
            control_key(exporter(secret), transcript.map(|byte| [byte; 32]).as_ref()).unwrap()
        };
        assert_eq!(key(1, Some(5)), key(1, Some(5)));
        assert!(
            key(1, Some(5)) != key(1, Some(6))
                && key(1, Some(5)) != key(1, None)
                && key(1, None) != key(2, None)
        );
    }
}
