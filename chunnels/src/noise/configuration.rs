//! The keys with which a [`Noise`](super::Noise) was made, and the handshake that follows from them.

use super::NoiseKey;
use super::primitives::{Ephemeral, Primitives, derive};
use bertha_core::capability::exact_part;
use bertha_core::{Capability, Error, ErrorKind, Mismatch, Role};
use serde::{Deserialize, Serialize};
use snow::{Builder, HandshakeState};
use std::collections::BTreeSet;
use std::fmt;
use zeroize::Zeroizing;

/// The prologue, which separates the handshakes of this Chunnel and version from all other handshakes with
/// the same keys.
const PROLOGUE: &[u8] = b"bertha noise 1";

/// The keys of an end.
pub(super) enum Configuration {
    /// The key that both ends share.
    Shared(Zeroizing<[u8; 32]>),
    /// The key of a client, and the public key of its server.
    Client { key: NoiseKey, server: [u8; 32] },
    /// The key of a server, and the public keys of its clients.
    Server { key: NoiseKey, trusted: BTreeSet<[u8; 32]> },
}

/// The handshake pattern (Noise specification, section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Pattern {
    /// `NNpsk0`: a shared key.
    Shared,
    /// `IK`: a static key of each end; the initiator knows the responder's public key.
    Static,
}

impl Pattern {
    /// Returns the protocol's name (section 8). The cipher was chosen by measurement, see `keychain.rs`.
    fn name(self) -> &'static str {
        match self {
            Self::Shared => "Noise_NNpsk0_25519_AESGCM_SHA256",
            Self::Static => "Noise_IK_25519_AESGCM_SHA256",
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shared => "a shared key",
            Self::Static => "static keys",
        })
    }
}

/// The capability: the pattern, and an identifier of the shared key or of the server's key, which reveals
/// nothing else about the key.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, Capability)]
#[capability(compare = Self::compare)]
pub(super) struct Keys {
    pattern: Pattern,
    id: [u8; 8],
}

impl Keys {
    fn compare(&self, other: &Self) -> Result<(), Mismatch> {
        exact_part("kind of keys", &self.pattern, &other.pattern)?;
        let part = match self.pattern {
            Pattern::Shared => "identifier of the shared key",
            Pattern::Static => "identifier of the server's key",
        };
        exact_part(part, &self.id_in_hex(), &other.id_in_hex())
    }

    fn id_in_hex(&self) -> String {
        format!("{:016x}", u64::from_be_bytes(self.id))
    }
}

/// The side of an end in the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The side that sends the first message.
    Initiator,
    /// The side that answers.
    Responder,
}

impl Configuration {
    pub(super) fn pattern(&self) -> Pattern {
        match self {
            Self::Shared(_) => Pattern::Shared,
            Self::Client { .. } | Self::Server { .. } => Pattern::Static,
        }
    }

    pub(super) fn capability(&self) -> Keys {
        let full = match self {
            Self::Shared(key) => derive(b"bertha noise shared key id", &**key, &[]),
            Self::Client { server, .. } => derive(b"bertha noise server key id", server, &[]),
            Self::Server { key, .. } => derive(b"bertha noise server key id", &key.public(), &[]),
        };
        let mut id = [0; 8];
        id.copy_from_slice(&full[..8]);
        Keys { pattern: self.pattern(), id }
    }

    /// Returns the side of this end in a connection in which it has this role. Without negotiation each end
    /// has the client's role, and static keys decide.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if the keys are not for this role.
    pub(super) fn side(&self, role: Role, is_negotiated: bool) -> Result<Side, Error> {
        let what = match (self, role) {
            (_, Role::Participant { .. }) => "it protects two ends, and this connection may have more",
            (Self::Client { .. }, Role::Server) => {
                "a listener has the keys of a client; make it with Noise::server"
            }
            (Self::Server { .. }, Role::Client) if is_negotiated => {
                "a client has the keys of a server; make it with Noise::client"
            }
            (Self::Server { .. }, _) | (Self::Shared(_), Role::Server) => return Ok(Side::Responder),
            _ => return Ok(Side::Initiator),
        };
        Err(Error::new(ErrorKind::Invalid, what).at("Noise"))
    }

    /// Returns true if a client with this static key is accepted.
    pub(super) fn trusts(&self, client: &[u8]) -> bool {
        match self {
            Self::Server { trusted, .. } => {
                client.try_into().is_ok_and(|key: &[u8; 32]| trusted.contains(key))
            }
            Self::Shared(_) | Self::Client { .. } => true,
        }
    }

    /// Makes a handshake that is bound to a transcript, or to its absence.
    ///
    /// # Errors
    /// None in practice: the protocol's name is known, and each key has its length.
    pub(super) fn handshake(
        &self,
        side: Side,
        transcript: Option<[u8; 32]>,
        ephemeral: Ephemeral,
    ) -> Result<HandshakeState, snow::Error> {
        let is_bound = [u8::from(transcript.is_some())];
        let prologue = [PROLOGUE, &is_bound, transcript.as_ref().map_or(&[][..], |it| it)].concat();
        let resolver = Box::new(Primitives(ephemeral));
        let builder = Builder::with_resolver(self.pattern().name().parse()?, resolver).prologue(&prologue)?;
        let builder = match self {
            Self::Shared(key) => builder.psk(0, key)?,
            Self::Client { key, server } => {
                builder.local_private_key(key.secret())?.remote_public_key(server)?
            }
            Self::Server { key, .. } => builder.local_private_key(key.secret())?,
        };
        match side {
            Side::Initiator => builder.build_initiator(),
            Side::Responder => builder.build_responder(),
        }
    }
}
