//! The messages of two ends about a connection after they have agreed on it.

use super::PublicKey;
use super::control_keys::{BY_CREDENTIALS, ControlKeys, decode_unverified};
use super::schedule::{MAC, MacKey, hash};
use super::secured_stacks::{Material, SecuredStacks};
use crate::wire::{self, Close, Confirm, Kind, PROVEN, Tag, Unreadable, VERSION};
use bertha_core::{PeerIdentity, Role, SecuredCell};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::atomic::{AtomicU64, Ordering};
use subtle::ConstantTimeEq;

/// One connection's keys, if it has any, and the agreement.
///
/// With keys, all messages about the connection carry a counter and a MAC; a message without them, or one that was seen
/// before, is counted and dropped. There are keys from the start with credentials, and with a secure Chunnel from the end of its
/// handshake; these are used in place of the first.
#[derive(Debug)]
pub struct Session {
    role: Role,
    /// The hash over offer and answer.
    transcript: [u8; 32],
    peer: Option<PublicKey>,
    /// Boxed, since most sessions have none.
    credentials: Option<Box<ByCredentials>>,
    stacks: SecuredStacks,
    forged: AtomicU64,
}

/// The part of a session that comes from credentials.
#[derive(Debug)]
struct ByCredentials {
    secret: MacKey,
    keys: ControlKeys,
    reset: [u8; MAC],
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
    /// The session of two ends that agreed by these two messages; `secret` is there if the messages have proofs.
    pub(super) fn new(
        role: Role,
        (offer, answer): (&[u8], &[u8]),
        secret: Option<&MacKey>,
        reset: [u8; MAC],
        peer: Option<PublicKey>,
    ) -> Self {
        let transcript = hash("bertha 3 transcript", &[offer, answer]);
        let credentials = secret.map(|secret| {
            let keys = ControlKeys::new(role, secret, BY_CREDENTIALS, &transcript);
            Box::new(ByCredentials { secret: secret.clone(), keys, reset })
        });
        Self { role, transcript, peer, credentials, ..Self::unknown() }
    }

    /// The placeholder for a session that is not known yet: it has no keys, and nothing was agreed.
    pub(crate) const fn unknown() -> Self {
        Self {
            role: Role::Client,
            transcript: [0; 32],
            peer: None,
            credentials: None,
            stacks: SecuredStacks::new(),
            forged: AtomicU64::new(0),
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
        encode_under(self.control_keys(), kind, tag, message)
    }

    /// As [`encode`](Self::encode), of a confirmation: its receiver may have yet to build a stack.
    pub(crate) fn encode_confirm(&self, tag: Tag, confirm: &Confirm) -> Option<Vec<u8>> {
        encode_under(self.credentials.as_ref().map(|it| &it.keys), Kind::Confirm, tag, confirm)
    }

    /// A message whose kind says it all: a header alone, unless it needs a proof.
    pub(crate) fn encode_bare(&self, kind: Kind, tag: Tag) -> Option<Vec<u8>> {
        if self.is_authenticated() { self.encode(kind, tag, &()) } else { Some(tag.header(kind).into()) }
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
        let received = if let Some(in_force) = self.stacks.in_force(&self.material()) {
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
        let Some(credentials) = &self.credentials else { return wire::decode(message) };
        credentials.keys.decode(message).inspect_err(|_| self.add_forged(1))
    }

    /// Reads a close. An end without keys believes one without a valid proof: its peer's secure Chunnel may have been ready, or have
    /// failed, before its own is.
    pub(crate) fn decode_close(&self, message: &[u8]) -> Result<Close, Unreadable> {
        match self.decode(message) {
            Err(Unreadable::Proven) => decode_unverified(message),
            read => read,
        }
    }

    /// Whether a message whose kind says it all is genuine.
    pub(crate) fn verify_bare(&self, message: &[u8]) -> bool {
        !self.is_authenticated() || self.decode::<()>(message).is_ok()
    }

    /// Whether a reset comes from the server, even if the server has forgotten this connection. With a secure Chunnel and no
    /// credentials none does: the server has forgotten the keys.
    pub(crate) fn verify_reset(&self, message: &[u8]) -> bool {
        let is_genuine = match &self.credentials {
            Some(credentials) => matches!(wire::open(message), Ok((version, token))
                if version & PROVEN != 0 && bool::from(token.ct_eq(&credentials.reset))),
            None => !self.is_secured(),
        };
        if !is_genuine {
            self.add_forged(1);
        }
        is_genuine
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

fn encode_under<M: Serialize>(
    keys: Option<&ControlKeys>,
    kind: Kind,
    tag: Tag,
    message: &M,
) -> Option<Vec<u8>> {
    match keys {
        Some(keys) => keys.encode(kind, tag, message),
        None => wire::encode(kind, tag, message).ok(),
    }
}

/// A server's reset for a connection that it doesn't know; `token` proves it.
pub(crate) fn reset(tag: Tag, token: &[u8; MAC]) -> Vec<u8> {
    let mut bytes = tag.header(Kind::Reset).to_vec();
    bytes.push(VERSION | PROVEN);
    bytes.extend(token);
    wire::checked(bytes)
}
