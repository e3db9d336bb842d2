//! The proofs of an end's identity, and the proofs that the end requires of its peer.

use super::schedule::{MacKey, hash};
use super::{IdentityKey, PublicKey, SharedKey};
use bertha_core::{Error, ErrorKind, Role};

/// The proofs of an end's identity, and the proofs that the end requires of its peer. Without any setting,
/// there are none.
///
/// Each end has to be able to give the proofs that the peer requires, else the two ends refuse each other
/// with [`Unauthenticated`](ErrorKind::Unauthenticated):
///
/// ```
/// use bertha_negotiation::{Credentials, IdentityKey, SharedKey};
///
/// // Both ends know a secret.
/// let either = Credentials::shared(SharedKey::new([1; 32]));
///
/// // The client knows the server, as with TLS.
/// let key = IdentityKey::from_seed([2; 32]);
/// let client = Credentials::default().trusting([key.public()]);
/// let server = Credentials::default().identity(key);
///
/// // And the server knows its clients.
/// let key = IdentityKey::from_seed([3; 32]);
/// let server = server.trusting([key.public()]);
/// let client = client.identity(key);
/// # let _ = (either, server, client);
/// ```
///
/// A Chunnel that opens further connections does so with these credentials as well, as a client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    pub(super) shared: Option<SharedKey>,
    pub(super) identity: Option<IdentityKey>,
    pub(super) trusted: Vec<PublicKey>,
}

impl Credentials {
    /// Requires that both ends have this secret. It costs two hashes per message; any holder can pretend to
    /// be either end.
    pub fn shared(key: SharedKey) -> Self {
        Self { shared: Some(key), ..Self::default() }
    }

    /// Gives this end this identity, with which it signs if the peer requires it.
    #[must_use]
    pub fn identity(mut self, key: IdentityKey) -> Self {
        self.identity = Some(key);
        self
    }

    /// Requires that the peer has one of these identities, and proves it. With a shared secret, the peer must
    /// have both.
    #[must_use]
    pub fn trusting(mut self, keys: impl IntoIterator<Item = PublicKey>) -> Self {
        self.trusted.extend(keys);
        self
    }

    /// Returns true if handshake messages carry proofs.
    pub fn is_some(&self) -> bool {
        self.shared.is_some() || self.uses_identities()
    }

    /// Returns true if messages can be sent with the offer: their origin needs no proof, or a shared key
    /// proves it.
    pub(crate) fn can_send_early(&self) -> bool {
        !self.is_some() || self.shared.is_some()
    }

    /// Returns the key for the messages that are sent with the offer of this hash, if there is a shared
    /// secret. An identity gives none: the key exchange ends only with the answer.
    pub(super) fn early_key(&self, offer: &[u8; 32]) -> Option<MacKey> {
        self.shared.as_ref().map(|shared| MacKey::extract(Some(shared), None).derive("early", offer))
    }

    /// Returns a digest of all by which a server, or its clients, can be distinguished. It reveals no secret.
    pub(crate) fn digest(&self) -> [u8; 32] {
        let own = self.identity.as_ref().map(IdentityKey::public);
        let keys = own.iter().chain(&self.trusted).map(|key| &key.as_bytes()[..]);
        let keys = hash("bertha 3 credentials", &keys.collect::<Vec<_>>());
        let has_own = [u8::from(own.is_some())];
        *MacKey::extract(self.shared.as_ref(), None)
            .derive("credentials", &[&has_own[..], &keys].concat())
            .bytes()
    }

    /// Fails if the credentials can't protect this end, or make no sense.
    pub(crate) fn check(&self, role: Role) -> Result<(), Error> {
        let can_be_recognised = self.shared.is_some() || self.identity.is_some();
        let can_recognise = self.shared.is_some() || !self.trusted.is_empty();
        let what = match role {
            Role::Server if self.is_some() && !can_be_recognised => {
                "credentials without a shared key and without an identity: no client could recognise this server"
            }
            Role::Client if self.is_some() && !can_recognise => {
                "credentials without a shared key and without trusted identities: this client could not recognise a server"
            }
            _ => return Ok(()),
        };
        Err(Error::new(ErrorKind::Invalid, what).at("negotiation"))
    }

    /// Returns true if a client has to exchange shares: it requires an identity, or has one.
    pub(crate) fn uses_identities(&self) -> bool {
        self.identity.is_some() || !self.trusted.is_empty()
    }
}
