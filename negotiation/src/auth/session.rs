//! The messages of two ends about a connection after they have agreed on it.

use super::PublicKey;
use super::control_keys::{BY_CREDENTIALS, ControlKeys, decode_unverified};
use super::proof::Head;
use super::reset::{NONCE, TOKEN, reveals};
use super::schedule::{MacKey, hash};
use super::secured_stacks::{Material, SecuredStacks};
use crate::wire::{self, Close, Confirm, Kind, Tag, Unreadable};
use bertha_core::{DropRegistry, Drops, PeerIdentity, Role, SecuredCell};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::atomic::{AtomicU64, Ordering};

/// One connection's keys, if it has any, and the agreement.
///
/// With keys, all messages about the connection carry a counter and a MAC; a message without them, or one that was seen
/// before, is counted and dropped. There are keys from the start with credentials, and with a secure Chunnel from the end of its
/// handshake; these are used in place of the first.
#[derive(Debug)]
pub struct Session {
    /// This end's own, which its messages name.
    role: Role,
    /// The hash over offer and answer.
    transcript: [u8; 32],
    peer: Option<PublicKey>,
    /// Boxed, since most sessions have none.
    credentials: Option<Box<ByCredentials>>,
    stacks: SecuredStacks,
    forged: AtomicU64,
    drops: DropRegistry,
}

/// The part of a session that comes from credentials.
#[derive(Debug)]
struct ByCredentials {
    secret: MacKey,
    keys: ControlKeys,
    /// The nonce of the answer, by which a server that has forgotten the connection finds the token.
    nonce: [u8; NONCE],
    /// The digest of the token that the server reveals then.
    reset: [u8; TOKEN],
}

/// The proof that came with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    /// There was none, as none was needed.
    Nothing,
    /// By the credentials.
    Credentials,
    /// By the stack's secure Chunnel.
    Chunnel,
}

impl Session {
    /// The session of two ends that agreed by these two messages; if the messages have proofs, with the secret and the
    /// head of the answer's.
    pub(super) fn new(
        role: Role,
        (offer, answer): (&[u8], &[u8]),
        proven: Option<(&MacKey, &Head)>,
        peer: Option<PublicKey>,
    ) -> Self {
        let transcript = hash("bertha 3 transcript", &[offer, answer]);
        let credentials = proven.map(|(secret, head)| {
            let keys = ControlKeys::new(role, secret, BY_CREDENTIALS, &transcript);
            let (nonce, reset) = (head.nonce, head.reset.unwrap_or_default());
            Box::new(ByCredentials { secret: secret.clone(), keys, nonce, reset })
        });
        Self { role, transcript, peer, credentials, ..Self::unknown() }
    }

    /// The placeholder for a client's session that is not known yet: it has no keys, and nothing was agreed.
    pub(crate) const fn unknown() -> Self {
        Self {
            role: Role::Client,
            transcript: [0; 32],
            peer: None,
            credentials: None,
            stacks: SecuredStacks::new(),
            forged: AtomicU64::new(0),
            drops: DropRegistry::new(),
        }
    }

    /// SHA-256 over the exact bytes of offer and answer. Equal on both ends; with credentials also if an attacker that
    /// has none of the keys edits messages on their way.
    pub fn transcript(&self) -> [u8; 32] {
        self.transcript
    }

    /// The transcript of a later stack of the connection; `agreed` is a hash of the messages that agreed on it.
    pub(crate) fn transcript_of(&self, agreed: &[u8; 32]) -> [u8; 32] {
        hash("bertha 3 round", &[&self.transcript, agreed])
    }

    /// The identity that the peer has proved: to a secure Chunnel of the stack, or else by its credentials, if this end asked
    /// for one.
    pub fn peer(&self) -> Option<PeerIdentity> {
        let of_chunnel = self.stacks.in_force(&self.material()).and_then(|it| it.peer.clone());
        of_chunnel.or_else(|| self.peer.map(|key| PeerIdentity::Key(*key.as_bytes())))
    }

    /// The place for the result of the secure Chunnel of the first stack.
    pub(crate) fn secured(&self) -> &SecuredCell {
        self.stacks.first()
    }

    /// The counters of dropped messages of all the connection's stacks.
    pub(crate) fn drops(&self) -> &DropRegistry {
        &self.drops
    }

    /// The report of a connection whose link has dropped so many messages, forged ones among them.
    pub(crate) fn drops_of_link(&self, dropped: u64) -> Drops {
        let forged = self.forged();
        let mut drops = Drops::default();
        drops.add("Link", "forged", forged);
        drops.add("Link", "damaged, late or of no connection", dropped.saturating_sub(forged));
        drops += &self.drops.drops();
        drops
    }

    /// A later stack is being built, whose secure Chunnel reports to `cell`. `place` names it.
    pub(crate) fn stage(&self, place: u64, cell: SecuredCell) {
        self.stacks.stage(place, cell);
    }

    /// The later stack of that name is not used.
    pub(crate) fn unstage(&self, place: u64) {
        self.stacks.unstage(place);
    }

    /// The later stack is used from now on: if this is the first with a secure Chunnel, messages need proofs by it.
    pub(crate) fn commit(&self) {
        self.stacks.commit(&self.material());
    }

    fn material(&self) -> Material<'_> {
        let secret = self.credentials.as_ref().map(|it| &it.secret);
        Material { role: self.role, secret, transcript: &self.transcript }
    }

    /// The keys for messages from now on, if there are any.
    fn control_keys(&self) -> Option<&ControlKeys> {
        let secured = self.stacks.in_force(&self.material()).map(|it| &it.keys);
        secured.or_else(|| self.credentials.as_ref().map(|it| &it.keys))
    }

    /// Whether messages about the connection carry proofs.
    pub fn is_authenticated(&self) -> bool {
        self.control_keys().is_some()
    }

    /// Whether the agreement was proved by credentials.
    pub(crate) fn has_credentials(&self) -> bool {
        self.credentials.is_some()
    }

    /// Whether the handshake of a secure Chunnel is over, so that messages need proofs by it.
    pub(crate) fn is_secured(&self) -> bool {
        self.stacks.in_force(&self.material()).is_some()
    }

    /// The number of messages that claimed to be of this connection and were forged, replayed, or without the proof
    /// that they need.
    pub fn forged(&self) -> u64 {
        self.forged.load(Ordering::Relaxed)
    }

    /// A message with a body.
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

    /// As [`encode`](Self::encode), of a confirmation: its receiver may have yet to build a stack.
    pub(crate) fn encode_confirm(&self, tag: Tag, confirm: &Confirm) -> Option<Vec<u8>> {
        self.encode_under(self.credentials.as_ref().map(|it| &it.keys), Kind::Confirm, tag, confirm)
    }

    /// The reply to a close.
    pub(crate) fn close_seen(&self, tag: Tag) -> Option<Vec<u8>> {
        self.encode(Kind::CloseSeen, tag, &())
    }

    /// A sign of life.
    pub(crate) fn keep_alive(&self, tag: Tag) -> Option<Vec<u8>> {
        match &self.credentials {
            Some(credentials) => self.encode(Kind::KeepAlive, tag, &credentials.nonce),
            None => self.encode(Kind::KeepAlive, tag, &()),
        }
    }

    /// Reads a message with a body, which counts as received then.
    ///
    /// # Errors
    /// The reason why the message is not valid.
    pub(crate) fn decode<M: DeserializeOwned>(&self, message: &[u8]) -> Result<M, Unreadable> {
        self.decode_with_proof(message).map(|(message, _)| message)
    }

    /// As [`decode`](Self::decode), with the proof that the message carries.
    pub(crate) fn decode_with_proof<M: DeserializeOwned>(
        &self,
        message: &[u8],
    ) -> Result<(M, Proof), Unreadable> {
        let received = if !self.is_from_peer(message) {
            Err(Unreadable::Unproven)
        } else if let Some(in_force) = self.stacks.in_force(&self.material()) {
            in_force.keys.decode(message).map(|message| (message, Proof::Chunnel))
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

    /// Reads a confirmation, as [`encode_confirm`](Self::encode_confirm) writes it.
    pub(crate) fn decode_confirm(&self, message: &[u8]) -> Result<Confirm, Unreadable> {
        let received = match &self.credentials {
            _ if !self.is_from_peer(message) => Err(Unreadable::Unproven),
            Some(credentials) => credentials.keys.decode(message),
            None => return wire::decode(message),
        };
        received.inspect_err(|_| self.add_forged(1))
    }

    /// Reads a close. An end without keys believes one without a valid proof: its peer's secure Chunnel may have been ready, or have
    /// failed, before its own is.
    pub(crate) fn decode_close(&self, message: &[u8]) -> Result<Close, Unreadable> {
        match self.decode(message) {
            Err(Unreadable::Proven) => decode_unverified(message),
            read => read,
        }
    }

    /// Whether it is the peer's reply to a close.
    pub(crate) fn is_close_seen(&self, message: &[u8]) -> bool {
        self.decode::<()>(message).is_ok()
    }

    /// Whether it is the peer's sign of life.
    pub(crate) fn is_keep_alive(&self, message: &[u8]) -> bool {
        match self.has_credentials() {
            true => self.decode::<[u8; NONCE]>(message).is_ok(),
            false => self.decode::<()>(message).is_ok(),
        }
    }

    /// Whether it is the server's reset, even if the server has forgotten this connection. A server has no use for one. With a
    /// secure Chunnel and no credentials there is none: the server has forgotten the key with the connection.
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

    /// Whether it asks for a sign of life, without a proof: the sender does not know this connection, or pretends so. A
    /// server that has forgotten the connection replies to the sign of life with a [reset](Self::is_reset).
    pub(crate) fn asks_for_keep_alive(&self, message: &[u8]) -> bool {
        let is_reset = matches!(wire::header(message), Some((Kind::Reset, _))) && self.is_from_peer(message);
        self.role == Role::Client && self.has_credentials() && is_reset && wire::decode::<()>(message).is_ok()
    }

    /// Whether a message about the connection says that the other end has sent it. Else it is one of this end's own, which
    /// somebody has sent back.
    fn is_from_peer(&self, message: &[u8]) -> bool {
        wire::sender(message).is_some_and(|sender| sender != self.role)
    }

    /// The keys for the client's and for the server's messages, on the client.
    #[cfg(test)]
    pub(crate) fn keys(&self) -> Option<[[u8; 32]; 2]> {
        self.control_keys().map(|keys| [*keys.ours.bytes(), *keys.theirs.bytes()])
    }

    /// Adds forged messages from before the session.
    pub(crate) fn add_forged(&self, count: u64) {
        self.forged.fetch_add(count, Ordering::Relaxed);
    }
}
