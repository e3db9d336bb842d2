//! The server's side: an offer whose proof was checked, and replies to it.

use super::identity::Ephemeral;
use super::proof::{self, Head};
use super::schedule::MacKey;
use super::{Credentials, HandshakeNonce, PublicKey, Session};
use crate::wire::{self, Answer, Early, Kind, Offer, Refusal, Tag, Unreadable};
use bertha_core::Role;

/// An offer whose proof, if it needs a proof, was checked.
pub(crate) struct Answering<'o> {
    credentials: &'o Credentials,
    message: &'o [u8],
    hash: [u8; 32],
    share: Option<[u8; 32]>,
    peer: Option<PublicKey>,
}

/// The reason why an offer gets no authentic reply.
pub(crate) enum Unanswerable {
    /// The offer can't be read.
    Unreadable(Unreadable),
    /// The ends require proofs of each other that they can't give.
    Unauthenticated(u64, &'static str),
}

impl<'o> Answering<'o> {
    /// Reads the offer, which has this hash, and checks its proof.
    pub(crate) fn open(
        credentials: &'o Credentials,
        message: &'o [u8],
        hash: [u8; 32],
    ) -> Result<(Offer, Self), Unanswerable> {
        use Unanswerable::{Unauthenticated, Unreadable};
        if !credentials.is_some() {
            let offer = match wire::decode::<Offer>(message) {
                Err(wire::Unreadable::Proven) => {
                    let id = proof::read::<Offer>(message).map_err(Unreadable)?.message.id;
                    return Err(Unauthenticated(
                        id,
                        "the client asks for authentication, and this server has no key",
                    ));
                }
                read => read.map_err(Unreadable)?,
            };
            return Ok((offer, Self::unproven(credentials, message, hash)));
        }
        let claimed = match proof::read::<Offer>(message) {
            Err(wire::Unreadable::Unproven) => {
                let id = wire::decode::<Offer>(message).map_err(Unreadable)?.id;
                return Err(Unauthenticated(
                    id,
                    "this server asks for authentication, and the client has no key",
                ));
            }
            read => read.map_err(Unreadable)?,
        };
        let unauthenticated = |what| Err(Unauthenticated(claimed.message.id, what));
        let key =
            credentials.shared.as_ref().map(|key| MacKey::extract(Some(key), None).derive("offer", &[]));
        if !claimed.is_sealed_with(&[], key.as_ref()) {
            return unauthenticated("client and server don't have the same shared key");
        }
        let share = claimed.head.share;
        if share.is_none() && credentials.shared.is_none() {
            return unauthenticated(
                "this server has an identity and no shared key, and the client asks for no identity",
            );
        }
        let peer = claimed.signer_among(&credentials.trusted, &[]);
        if peer.is_none() && !credentials.trusted.is_empty() {
            return unauthenticated("the client has no identity that this server trusts");
        }
        Ok((claimed.message, Self { credentials, message, hash, share, peer }))
    }

    /// Opens an offer that was read already, with this hash and without a proof, for a server that requires
    /// none.
    pub(crate) fn unproven(credentials: &'o Credentials, message: &'o [u8], hash: [u8; 32]) -> Self {
        Self { credentials, message, hash, share: None, peer: None }
    }

    /// Returns the offer's hash.
    pub(crate) fn hash(&self) -> [u8; 32] {
        self.hash
    }

    /// Returns the messages that come with the offer in `message`, if they carry the proof that this end
    /// requires.
    pub(crate) fn early<'m>(&self, message: &'m [u8]) -> Option<Early<'m>> {
        let key = self.credentials.early_key(&self.hash);
        if self.credentials.is_some() && key.is_none() {
            return None;
        }
        super::early::early_in(message, key.as_ref())
    }

    /// Writes an answer, to be sent along this path. With credentials `fresh` is required, else there is no
    /// answer.
    pub(crate) fn answer(
        &self,
        answer: &Answer,
        fresh: Option<&HandshakeNonce>,
        path: &[u8],
    ) -> Option<(Vec<u8>, Session)> {
        let tag = Tag::of(answer.id);
        if !self.credentials.is_some() {
            let reply = wire::encode(Kind::Answer, tag, answer).ok()?;
            let session = Session::new(Role::Server, self.message, &reply, None, None);
            return Some((reply, session));
        }
        let fresh = fresh?;
        let ephemeral = self.share.map(|_| Ephemeral::new(*fresh.secret));
        let agreed = match (&ephemeral, &self.share) {
            (Some(ephemeral), Some(theirs)) => Some(ephemeral.agree(theirs)?),
            _ => None,
        };
        let secret = MacKey::extract(self.credentials.shared.as_ref(), agreed.as_deref());
        let share = ephemeral.as_ref().map(Ephemeral::share);
        let token = self.credentials.reset_token(tag, &fresh.nonce, path);
        let head = Head { nonce: fresh.nonce, share, reset: Some(token.digest()), ..Head::default() };
        let key = secret.derive("reply", &self.hash);
        let reply =
            proof::prove(Kind::Answer, tag, answer, head.clone(), &self.hash, self.signer(), Some(&key))
                .ok()?;
        let session = Session::new(Role::Server, self.message, &reply, Some((&secret, &head)), self.peer);
        Some((reply, session))
    }

    /// Writes a refusal.
    pub(crate) fn refuse(&self, tag: Tag, refusal: &Refusal) -> Option<Vec<u8>> {
        if !self.credentials.is_some() {
            return wire::encode(Kind::Refusal, tag, refusal).ok();
        }
        let shared = self.credentials.shared.as_ref();
        let key = shared.map(|key| MacKey::extract(Some(key), None).derive("reply", &self.hash));
        // A refusal is bound to one offer, which has a nonce; so it needs no nonce of its own.
        proof::prove(Kind::Refusal, tag, refusal, Head::default(), &self.hash, self.signer(), key.as_ref())
            .ok()
    }

    /// Returns the key that signs a reply to this offer: a client that sent no share requires no identity.
    fn signer(&self) -> Option<&super::IdentityKey> {
        self.share.and(self.credentials.identity.as_ref())
    }
}
