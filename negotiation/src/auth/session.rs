//! The messages of two ends about a connection after they have agreed on it.

use super::PublicKey;
use super::control_keys::{BY_CREDENTIALS, ControlKeys, decode_unverified};
use super::proof::Head;
use super::reset::{NONCE, TOKEN, reveals};
use super::schedule::{MacKey, hash};
use super::secured_stacks::{Material, SecuredStacks};
use crate::wire::{self, Close, Confirm, Kind, Tag, Unreadable};
use bertha_core::{Drops, LayerRegistry, PeerIdentity, Role, SecuredCell, Statistics};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::atomic::{AtomicU64, Ordering};

/// The keys of one connection, if any, its agreement, and its counters.
///
/// With keys, all messages about the connection carry a counter and a MAC; a message without them, or with a
/// used counter, is counted and dropped. Credentials give keys from the start, and a secure Chunnel gives
/// keys from the end of its handshake on, which replace the keys of the credentials.
#[derive(Debug)]
pub struct Session {
    /// The role of this end, which its messages name.
    role: Role,
    /// The hash over offer and answer.
    transcript: [u8; 32],
    peer: Option<PublicKey>,
    /// Boxed, since most sessions have none.
    credentials: Option<Box<ByCredentials>>,
    stacks: SecuredStacks,
    forged: AtomicU64,
    not_sent: AtomicU64,
    registry: LayerRegistry,
}

/// The part of a session that comes from credentials.
#[derive(Debug)]
struct ByCredentials {
    secret: MacKey,
    keys: ControlKeys,
    /// The nonce of the answer, with which a server that has forgotten the connection computes the token.
    nonce: [u8; NONCE],
    /// The digest of the token that such a server reveals.
    reset: [u8; TOKEN],
}

/// The proof that came with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    /// No proof was needed.
    Nothing,
    /// A proof by the credentials.
    Credentials,
    /// A proof by the stack's secure Chunnel.
    Chunnel,
}

impl Session {
    /// Makes the session of two ends that agreed by these two messages; if the messages have proofs, with the
    /// secret and the head of the answer's proof.
    pub(super) fn new(
        role: Role,
        offer: &[u8],
        answer: &[u8],
        proven: Option<(&MacKey, &Head)>,
        peer: Option<PublicKey>,
    ) -> Self {
        let transcript = hash("bertha 3 transcript", &[offer, answer]);
        let credentials = proven.map(|(secret, head)| {
            let keys = ControlKeys::new(role, secret, BY_CREDENTIALS, &transcript);
            let nonce = head.nonce;
            let reset = head.reset.unwrap_or_default();
            Box::new(ByCredentials { secret: secret.clone(), keys, nonce, reset })
        });
        Self { role, transcript, peer, credentials, ..Self::unknown() }
    }

    /// Returns the placeholder for a client's session before the answer: it has no keys, and nothing was
    /// agreed.
    pub(crate) const fn unknown() -> Self {
        Self {
            role: Role::Client,
            transcript: [0; 32],
            peer: None,
            credentials: None,
            stacks: SecuredStacks::new(),
            forged: AtomicU64::new(0),
            not_sent: AtomicU64::new(0),
            registry: LayerRegistry::new(),
        }
    }

    /// Returns SHA-256 over the exact bytes of offer and answer. It is equal on both ends; with credentials
    /// also if an attacker without the keys changes messages on their way.
    pub fn transcript(&self) -> [u8; 32] {
        self.transcript
    }

    /// Returns the transcript of a later stack of the connection; `agreed` is a hash of the messages that
    /// agreed on it.
    pub(crate) fn transcript_of(&self, agreed: &[u8; 32]) -> [u8; 32] {
        hash("bertha 3 round", &[&self.transcript, agreed])
    }

    /// Returns the identity that the peer has proved: to a secure Chunnel of the stack, or else by its
    /// credentials, if this end required an identity.
    pub fn peer(&self) -> Option<PeerIdentity> {
        let of_chunnel = self.stacks.active(&self.material()).and_then(|it| it.peer.clone());
        of_chunnel.or_else(|| self.peer.map(|key| PeerIdentity::Key(*key.as_bytes())))
    }

    /// Returns the place for the result of the secure Chunnel of the first stack.
    pub(crate) fn secured(&self) -> &SecuredCell {
        self.stacks.first()
    }

    /// Returns the counters and the state of the layers of all the connection's stacks.
    pub(crate) fn registry(&self) -> &LayerRegistry {
        &self.registry
    }

    /// Returns the statistics of a connection whose link has dropped this number of messages, forged messages
    /// included.
    pub(crate) fn statistics_of_link(&self, dropped: u64) -> Statistics {
        let mut statistics = Statistics::default();
        self.registry.observe(&mut statistics);
        statistics.add_drops(&self.drops_of_link(dropped));
        statistics
    }

    /// Returns the report of a connection whose link has dropped this number of messages, forged messages
    /// included.
    pub(crate) fn drops_of_link(&self, dropped: u64) -> Drops {
        let forged = self.forged();
        let mut drops = Drops::default();
        drops.add("Link", "forged", forged);
        drops.add("Link", "damaged, late or of no connection", dropped.saturating_sub(forged));
        drops.add("Link", "not sent by this machine", self.not_sent.load(Ordering::Relaxed));
        drops += &self.registry.drops();
        drops
    }

    /// Records that a later stack, `place`, is being built, whose secure Chunnel reports to `cell`.
    pub(crate) fn stage(&self, place: u64, cell: SecuredCell) {
        self.stacks.stage(place, cell);
    }

    /// Records that the later stack `place` is not used.
    pub(crate) fn unstage(&self, place: u64) {
        self.stacks.unstage(place);
    }

    /// Records that the later stack is used from now on: if it is the first stack with a secure Chunnel,
    /// messages need proofs by that Chunnel.
    pub(crate) fn commit(&self) {
        self.stacks.commit(&self.material());
    }

    fn material(&self) -> Material<'_> {
        let secret = self.credentials.as_ref().map(|it| &it.secret);
        Material { role: self.role, secret, transcript: &self.transcript }
    }

    /// Returns the keys for messages from now on, if any.
    fn control_keys(&self) -> Option<&ControlKeys> {
        let secured = self.stacks.active(&self.material()).map(|it| &it.keys);
        secured.or_else(|| self.credentials.as_ref().map(|it| &it.keys))
    }

    /// Returns true if messages about the connection carry proofs.
    pub fn is_authenticated(&self) -> bool {
        self.control_keys().is_some()
    }

    /// Returns true if credentials proved the agreement.
    pub(crate) fn has_credentials(&self) -> bool {
        self.credentials.is_some()
    }

    /// Returns true if the handshake of a secure Chunnel is over, so that messages need proofs by it.
    pub(crate) fn is_secured(&self) -> bool {
        self.stacks.active(&self.material()).is_some()
    }

    /// Returns the number of messages that claimed to belong to this connection and were forged, replayed, or
    /// without the required proof.
    pub fn forged(&self) -> u64 {
        self.forged.load(Ordering::Relaxed)
    }

    /// Encodes a message with a body.
    pub(crate) fn encode<M: Serialize>(&self, kind: Kind, tag: Tag, message: &M) -> Option<Vec<u8>> {
        self.encode_under(self.control_keys(), kind, tag, message)
    }

    fn encode_under<M: Serialize>(
        &self,
        keys: Option<&ControlKeys>,
        kind: Kind,
        tag: Tag,
        message: &M,
    ) -> Option<Vec<u8>> {
        let header = tag.header_from(self.role, kind);
        match keys {
            Some(keys) => keys.encode(header, message),
            None => wire::encode_from(self.role, kind, tag, message).ok(),
        }
    }

    /// Encodes a confirmation, as [`encode`](Self::encode) does, but under the keys of the credentials: its
    /// receiver may not have built a stack yet.
    pub(crate) fn encode_confirm(&self, tag: Tag, confirm: &Confirm) -> Option<Vec<u8>> {
        self.encode_under(self.credentials.as_ref().map(|it| &it.keys), Kind::Confirm, tag, confirm)
    }

    /// Encodes the reply to a close.
    pub(crate) fn close_seen(&self, tag: Tag) -> Option<Vec<u8>> {
        self.encode(Kind::CloseSeen, tag, &())
    }

    /// Encodes a keep-alive.
    pub(crate) fn keep_alive(&self, tag: Tag) -> Option<Vec<u8>> {
        match &self.credentials {
            Some(credentials) => self.encode(Kind::KeepAlive, tag, &credentials.nonce),
            None => self.encode(Kind::KeepAlive, tag, &()),
        }
    }

    /// Reads a message with a body, which then counts as received.
    ///
    /// # Errors
    /// The reason why the message is not valid.
    pub(crate) fn decode<M: DeserializeOwned>(&self, message: &[u8]) -> Result<M, Unreadable> {
        self.decode_with_proof(message).map(|(message, _)| message)
    }

    /// Works as [`decode`](Self::decode), and returns the proof that the message carries.
    pub(crate) fn decode_with_proof<M: DeserializeOwned>(
        &self,
        message: &[u8],
    ) -> Result<(M, Proof), Unreadable> {
        let received = if !self.is_from_peer(message) {
            Err(Unreadable::Unproven)
        } else if let Some(active) = self.stacks.active(&self.material()) {
            active.keys.decode(message).map(|message| (message, Proof::Chunnel))
        } else if let Some(message) =
            self.stacks.try_staged(&self.material(), |keys| keys.decode(message).ok())
        {
            Ok((message, Proof::Chunnel))
        } else if let Some(credentials) = &self.credentials {
            credentials.keys.decode(message).map(|message| (message, Proof::Credentials))
        } else {
            return wire::decode(message).map(|message| (message, Proof::Nothing));
        };
        if received.is_err() {
            self.add_forged(1);
        }
        received
    }

    /// Reads a confirmation that [`encode_confirm`](Self::encode_confirm) wrote.
    pub(crate) fn decode_confirm(&self, message: &[u8]) -> Result<Confirm, Unreadable> {
        let received = match &self.credentials {
            _ if !self.is_from_peer(message) => Err(Unreadable::Unproven),
            Some(credentials) => credentials.keys.decode(message),
            None => return wire::decode(message),
        };
        received.inspect_err(|_| self.add_forged(1))
    }

    /// Reads a close. An end without keys accepts a close without a valid proof: the peer's secure Chunnel
    /// may have completed its handshake, or failed, earlier than this end's Chunnel.
    pub(crate) fn decode_close(&self, message: &[u8]) -> Result<Close, Unreadable> {
        match self.decode(message) {
            Err(Unreadable::Proven) => decode_unverified(message),
            read => read,
        }
    }

    /// Returns true if the message is the peer's reply to a close.
    pub(crate) fn is_close_seen(&self, message: &[u8]) -> bool {
        self.decode::<()>(message).is_ok()
    }

    /// Returns true if the message is the peer's keep-alive.
    pub(crate) fn is_keep_alive(&self, message: &[u8]) -> bool {
        match self.has_credentials() {
            true => self.decode::<[u8; NONCE]>(message).is_ok(),
            false => self.decode::<()>(message).is_ok(),
        }
    }

    /// Returns true if the message is the server's reset, even if the server has forgotten this connection. A
    /// server accepts no reset. With a secure Chunnel and no credentials there is no reset: the server has
    /// forgotten the key with the connection.
    pub(crate) fn is_reset(&self, message: &[u8]) -> bool {
        if self.role == Role::Server {
            return false;
        }
        let is_genuine = match &self.credentials {
            Some(credentials) => self.is_from_peer(message) && reveals(message, &credentials.reset),
            None if self.is_secured() => false,
            None => return self.decode::<()>(message).is_ok(),
        };
        if !is_genuine {
            self.add_forged(1);
        }
        is_genuine
    }

    /// Returns true if the message is an are-you-there, which asks for a keep-alive, without a proof: its sender
    /// does not know this connection, or pretends so. A server that has forgotten the connection replies to the
    /// keep-alive with a [reset](Self::is_reset).
    pub(crate) fn is_are_you_there(&self, message: &[u8]) -> bool {
        let is_reset = matches!(wire::header(message), Some((Kind::Reset, _))) && self.is_from_peer(message);
        self.role == Role::Client && self.has_credentials() && is_reset && wire::decode::<()>(message).is_ok()
    }

    /// Returns true if a message about the connection names the peer as its sender. Otherwise it is a message
    /// of this end that was sent back.
    fn is_from_peer(&self, message: &[u8]) -> bool {
        wire::sender(message).is_some_and(|sender| sender != self.role)
    }

    /// Returns the keys for the client's and for the server's messages, on the client.
    #[cfg(test)]
    pub(crate) fn keys(&self) -> Option<[[u8; 32]; 2]> {
        self.control_keys().map(|keys| [*keys.ours.bytes(), *keys.theirs.bytes()])
    }

    /// Adds messages about the connection that the datapath did not take.
    pub(crate) fn add_not_sent(&self, count: u64) {
        self.not_sent.fetch_add(count, Ordering::Relaxed);
    }

    /// Adds forged messages from before the session.
    pub(crate) fn add_forged(&self, count: u64) {
        self.forged.fetch_add(count, Ordering::Relaxed);
    }
}
