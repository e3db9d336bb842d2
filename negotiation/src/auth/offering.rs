//! The client's side: an offer, and the reply that is bound to it.

use super::identity::Ephemeral;
use super::proof::{self, Head, offer_hash};
use super::schedule::MacKey;
use super::{Credentials, HandshakeNonce, PublicKey, Session};
use crate::wire::{self, Answer, Kind, Offer, Refusal, Tag, Unreadable};
use bertha_core::Role;
use serde::de::DeserializeOwned;

/// An offer that was made, and the means to recognise its answer.
#[derive(Debug)]
pub(crate) struct Offering {
    credentials: Credentials,
    ephemeral: Option<Ephemeral>,
    message: Vec<u8>,
    /// With credentials, the hash to which replies are bound. Else zero.
    hash: [u8; 32],
}

impl Offering {
    /// Writes the offer, whose stack is encoded already. Only with credentials is `random` called again.
    pub(crate) fn new(
        offer: &Offer,
        stack: &[u8],
        credentials: &Credentials,
        random: impl FnMut() -> u64,
    ) -> Result<Self, postcard::Error> {
        let tag = Tag::of(offer.id);
        let mut ephemeral = None;
        let credentials = credentials.clone();
        let message = if credentials.is_some() {
            let fresh = HandshakeNonce::draw(random);
            ephemeral = credentials.uses_identities().then(|| Ephemeral::new(*fresh.secret));
            let head = Head {
                nonce: fresh.nonce,
                share: ephemeral.as_ref().map(Ephemeral::share),
                ..Head::default()
            };
            let key =
                credentials.shared.as_ref().map(|key| MacKey::extract(Some(key), None).derive("offer", &[]));
            proof::prove(Kind::Offer, tag, offer, head, &[], credentials.identity.as_ref(), key.as_ref())?
        } else {
            offer.encode(stack)?
        };
        // Only credentials use the hash.
        let hash = if credentials.is_some() { offer_hash(&message) } else { [0; 32] };
        Ok(Self { credentials, ephemeral, message, hash })
    }

    /// Returns the offer as it is sent.
    pub(crate) fn message(&self) -> &[u8] {
        &self.message
    }

    /// Returns the key for messages that are sent with the offer, if there is a shared secret.
    pub(crate) fn early_key(&self) -> Option<MacKey> {
        self.credentials.early_key(&self.hash)
    }

    pub(crate) fn is_authenticated(&self) -> bool {
        self.credentials.is_some()
    }

    /// Reads an answer, which has to be bound to this offer.
    pub(crate) fn answer(&self, message: &[u8]) -> Result<(Answer, Session), Unreadable> {
        let offer = self.message();
        if !self.is_authenticated() {
            let session = Session::new(Role::Client, offer, message, None, None);
            return Ok((wire::decode(message)?, session));
        }
        let (answer, head, secret, peer) = self.reply(message)?;
        let secret = secret.filter(|_| head.reset.is_some()).ok_or(Unreadable::Unproven)?;
        Ok((answer, Session::new(Role::Client, offer, message, Some((&secret, &head)), peer)))
    }

    /// Reads a refusal, which has to be bound to this offer.
    pub(crate) fn refusal(&self, message: &[u8]) -> Result<Refusal, Unreadable> {
        if !self.is_authenticated() {
            return wire::decode(message);
        }
        self.reply(message).map(|(refusal, ..)| refusal)
    }

    /// Reads a reply and checks its proof. Returns the reply, the secret, if any, and the key that signed it.
    fn reply<M: DeserializeOwned>(
        &self,
        message: &[u8],
    ) -> Result<(M, Head, Option<MacKey>, Option<PublicKey>), Unreadable> {
        let claimed = proof::read::<M>(message)?;
        let agreed = match (&self.ephemeral, &claimed.head.share) {
            (_, None) => None,
            (Some(ephemeral), Some(theirs)) => Some(ephemeral.agree(theirs).ok_or(Unreadable::Unproven)?),
            (None, Some(_)) => return Err(Unreadable::Unproven),
        };
        let shared = self.credentials.shared.as_ref();
        let secret =
            (shared.is_some() || agreed.is_some()).then(|| MacKey::extract(shared, agreed.as_deref()));
        let key = secret.as_ref().map(|secret| secret.derive("reply", &self.hash));
        if !claimed.is_sealed_with(&self.hash, key.as_ref()) {
            return Err(Unreadable::Unproven);
        }
        let trusted = &self.credentials.trusted;
        let peer = claimed.signer_among(trusted, &self.hash);
        if peer.is_none() && !trusted.is_empty() {
            return Err(Unreadable::Unproven);
        }
        Ok((claimed.message, claimed.head, secret, peer))
    }
}
