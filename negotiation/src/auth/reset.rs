//! Resets: a server that has forgotten a connection says so, and needs no state for it (RFC 9000 section 10.3).
//!
//! The answer carries the digest of a token. The server reveals the token when the connection is gone, and nobody else
//! knows it. It is bound to the nonce of the answer, which nobody knows before there is a connection: so nobody gets it
//! from the server in advance. The client names the nonce in its signs of life.

use super::schedule::{MAC, MacKey, hash};
use super::{Credentials, IdentityKey};
use crate::wire::{self, HEADER, Kind, PROVEN, Tag, VERSION};
use bertha_core::Role;
use subtle::ConstantTimeEq;

/// The length of a token, and of its digest, in bytes.
pub(super) const TOKEN: usize = MAC;

/// The length of the nonce of an answer, in bytes.
pub(super) const NONCE: usize = 16;

/// The proof that a server has forgotten a connection.
pub(crate) struct ResetToken([u8; TOKEN]);

impl ResetToken {
    /// A hash of it, which does not give it away.
    pub(super) fn digest(&self) -> [u8; TOKEN] {
        let mut digest = [0; TOKEN];
        digest.copy_from_slice(&hash("bertha 3 reset", &[&self.0])[..TOKEN]);
        digest
    }

    /// The message that reveals it.
    pub(crate) fn message(&self, tag: Tag) -> Vec<u8> {
        let mut bytes = tag.header_from(Role::Server, Kind::Reset).to_vec();
        bytes.push(VERSION | PROVEN);
        bytes.extend(self.0);
        wire::checked(bytes)
    }
}

/// Whether `message` reveals the token with this digest. In constant time.
pub(super) fn reveals(message: &[u8], digest: &[u8; TOKEN]) -> bool {
    let Ok((version, token)) = wire::open(message) else { return false };
    let Ok(token) = token.try_into() else { return false };
    version & PROVEN != 0 && ResetToken(token).digest().ct_eq(digest).into()
}

impl Credentials {
    /// The token for the connection `tag` whose answer had this nonce and was sent along this path: the addresses of both
    /// ends, as bytes.
    pub(crate) fn reset_token(&self, tag: Tag, nonce: &[u8; NONCE], path: &[u8]) -> ResetToken {
        let seed = self.identity.as_ref().map(IdentityKey::seed);
        let key = MacKey::extract(self.shared.as_ref(), seed.as_deref()).derive("reset", &[]);
        ResetToken(key.tag(&[&tag.header_from(Role::Server, Kind::Reset), nonce, path]))
    }

    /// The reset of the unknown connection to which this sign of life belongs; nothing without credentials, or if it has
    /// no nonce.
    pub(crate) fn reset(&self, tag: Tag, sign_of_life: &[u8], path: &[u8]) -> Option<Vec<u8>> {
        let nonce = named_nonce(sign_of_life).filter(|_| self.is_some())?;
        Some(self.reset_token(tag, nonce, path).message(tag))
    }
}

/// The nonce in a sign of life with a proof, which is not checked.
fn named_nonce(sign_of_life: &[u8]) -> Option<&[u8; NONCE]> {
    let (&version, fields) = sign_of_life.get(HEADER..)?.split_first()?;
    if version & PROVEN != 0 { fields.first_chunk() } else { None }
}
