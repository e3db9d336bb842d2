//! The result of a handshake: the keys of both directions.

use super::configuration::Side;
use super::keychain::Keychain;
use super::primitives::derive;
use bertha_core::{Error, ErrorKind, PeerIdentity, Secured};
use snow::HandshakeState;
use zeroize::Zeroizing;

/// The keys that two ends have agreed on, and the proved identity of the other end.
pub(super) struct Session {
    pub(super) sending: Keychain,
    pub(super) receiving: Keychain,
    control_key: Zeroizing<[u8; 32]>,
    peer: Option<[u8; 32]>,
}

impl Session {
    /// Returns the session of the end on this side of a completed handshake. It is boxed, since the tables of
    /// its ciphers take two kilobytes.
    ///
    /// # Errors
    /// None in practice: each key has the length that the cipher takes.
    pub(super) fn of(handshake: &mut HandshakeState, side: Side) -> Result<Box<Self>, Error> {
        let keys = Zeroizing::new(<[_; 2]>::from(handshake.dangerously_get_raw_split()));
        let control_key =
            derive(b"bertha noise control key", keys.as_flattened(), handshake.get_handshake_hash());
        let (Some(initiator), Some(responder)) = (Keychain::new(&keys[0]), Keychain::new(&keys[1])) else {
            return Err(Error::new(ErrorKind::Invalid, "the cipher takes no key of this length"));
        };
        let (sending, receiving) = match side {
            Side::Initiator => (initiator, responder),
            Side::Responder => (responder, initiator),
        };
        let peer = handshake.get_remote_static().and_then(|key| key.try_into().ok());
        Ok(Box::new(Self { sending, receiving, control_key, peer }))
    }

    /// Returns the report for the layers below and the application.
    pub(super) fn secured(&self) -> Secured {
        let secured = Secured::new(*self.control_key);
        match self.peer {
            Some(key) => secured.with_peer(PeerIdentity::NoiseKey(key)),
            None => secured,
        }
    }
}
