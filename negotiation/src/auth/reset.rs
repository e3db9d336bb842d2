//! Resets: a server that has forgotten a connection tells its client, without any state (RFC 9000 section
//! 10.3).
//!
//! The answer carries the digest of a token, which only the server knows. The server reveals the token when
//! the connection is gone. The token is bound to the nonce of the answer, which nobody knows before there is
//! a connection: so nobody gets the token from the server in advance. The client names the nonce in its
//! keep-alives.

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
    /// Returns a hash of the token, which does not reveal it.
    pub(super) fn digest(&self) -> [u8; TOKEN] {
        let mut digest = [0; TOKEN];
        digest.copy_from_slice(&hash("bertha 3 reset", &[&self.0])[..TOKEN]);
        digest
    }

    /// Returns the message that reveals the token.
    pub(crate) fn message(&self, tag: Tag) -> Vec<u8> {
        let mut bytes = tag.header_from(Role::Server, Kind::Reset).to_vec();
        bytes.push(VERSION | PROVEN);
        bytes.extend(self.0);
        wire::checked(bytes)
    }
}

/// Returns true if `message` reveals the token with this digest. It runs in constant time.
pub(super) fn reveals(message: &[u8], digest: &[u8; TOKEN]) -> bool {
    let Ok((version, token)) = wire::open(message) else { return false };
    let Ok(token) = token.try_into() else { return false };
    version & PROVEN != 0 && ResetToken(token).digest().ct_eq(digest).into()
}

impl Credentials {
    /// Returns the token for the connection `tag` whose answer had this nonce and was sent along this path:
    /// the addresses of both ends, as bytes.
    pub(crate) fn reset_token(&self, tag: Tag, nonce: &[u8; NONCE], path: &[u8]) -> ResetToken {
        let seed = self.identity.as_ref().map(IdentityKey::seed);
        let key = MacKey::extract(self.shared.as_ref(), seed.as_deref()).derive("reset", &[]);
        ResetToken(key.tag(&[&tag.header_from(Role::Server, Kind::Reset), nonce, path]))
    }

    /// Returns the reset of the unknown connection to which this keep-alive belongs; `None` without
    /// credentials, or if the keep-alive has no nonce.
    pub(crate) fn reset(&self, tag: Tag, keep_alive: &[u8], path: &[u8]) -> Option<Vec<u8>> {
        let nonce = named_nonce(keep_alive).filter(|_| self.is_some())?;
        Some(self.reset_token(tag, nonce, path).message(tag))
    }
}

/// Returns the nonce in a keep-alive with a proof, which is not checked.
fn named_nonce(keep_alive: &[u8]) -> Option<&[u8; NONCE]> {
    let (&version, fields) = keep_alive.get(HEADER..)?.split_first()?;
    if version & PROVEN != 0 { fields.first_chunk() } else { None }
}
