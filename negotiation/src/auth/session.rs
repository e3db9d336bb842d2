//! The messages of two ends about a connection after they have agreed on it.

use super::PublicKey;
use super::proof::Head;
use super::reset::{NONCE, TOKEN, reveals};
use super::schedule::{MAC, MacKey, hash};
use crate::wire::{self, HEADER, Kind, PROVEN, Tag, Unreadable, VERSION};
use bertha_core::replay_window::ReplayWindow;
use bertha_core::{PeerIdentity, Role, SecuredCell};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// One connection's keys, if it has any, and the agreement.
///
/// With keys, all messages about the connection carry a counter and a MAC; a message without them, or one that was seen
/// before, is counted and dropped.
#[derive(Debug)]
pub struct Session {
    /// This end's own, which its messages name.
    role: Role,
    /// The hash over offer and answer.
    transcript: [u8; 32],
    peer: Option<PublicKey>,
    /// The result of the stack's secure Chunnel, once its handshake is over.
    secured: OnceLock<SecuredCell>,
    /// Boxed, since most sessions have none.
    keys: Option<Box<Keys>>,
    forged: AtomicU64,
}

#[derive(Debug)]
struct Keys {
    ours: MacKey,
    theirs: MacKey,
    sent: AtomicU64,
    received: Mutex<ReplayWindow<2>>,
    /// The nonce of the answer, by which a server that has forgotten the connection finds the token.
    nonce: [u8; NONCE],
    /// The digest of the token that the server reveals then.
    reset: [u8; TOKEN],
}

const COUNTER: usize = 8;

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
        let keys = proven.map(|(secret, head)| {
            let client = secret.derive("client", &transcript);
            let server = secret.derive("server", &transcript);
            let (ours, theirs) = if role == Role::Server { (server, client) } else { (client, server) };
            let (nonce, reset) = (head.nonce, head.reset.unwrap_or_default());
            Box::new(Keys { ours, theirs, sent: AtomicU64::new(0), received: Mutex::default(), nonce, reset })
        });
        Self { role, transcript, peer, secured: OnceLock::new(), keys, forged: AtomicU64::new(0) }
    }

    /// The placeholder for a client's session that is not known yet: it has no keys, and nothing was agreed.
    pub(crate) const fn unknown() -> Self {
        let secured = OnceLock::new();
        Self {
            role: Role::Client,
            transcript: [0; 32],
            peer: None,
            secured,
            keys: None,
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
        let of_chunnel = self.secured.get().and_then(|cell| cell.get()?.peer().cloned());
        of_chunnel.or_else(|| self.peer.map(|key| PeerIdentity::Key(*key.as_bytes())))
    }

    /// The place for the result of the stack's secure Chunnel.
    pub(crate) fn secured(&self) -> &SecuredCell {
        self.secured.get_or_init(SecuredCell::default)
    }

    /// Whether messages about the connection carry proofs.
    pub fn is_authenticated(&self) -> bool {
        self.keys.is_some()
    }

    /// The number of messages that claimed to be of this connection and were forged, replayed, or without the proof
    /// that they need.
    pub fn forged(&self) -> u64 {
        self.forged.load(Ordering::Relaxed)
    }

    /// A message with a body.
    pub(crate) fn encode<M: Serialize>(&self, kind: Kind, tag: Tag, message: &M) -> Option<Vec<u8>> {
        let Some(keys) = &self.keys else { return wire::encode_from(self.role, kind, tag, message).ok() };
        let mut bytes = wire::begin(tag.header_from(self.role, kind), VERSION | PROVEN, message).ok()?;
        bytes.extend(keys.sent.fetch_add(1, Ordering::Relaxed).to_le_bytes());
        let mac = keys.ours.tag(&[&bytes]);
        bytes.extend(mac);
        Some(wire::checked(bytes))
    }

    /// The reply to a close: a header alone, unless it needs a proof.
    pub(crate) fn close_seen(&self, tag: Tag) -> Option<Vec<u8>> {
        match self.is_authenticated() {
            true => self.encode(Kind::CloseSeen, tag, &()),
            false => Some(tag.header_from(self.role, Kind::CloseSeen).into()),
        }
    }

    /// A sign of life: a header alone, unless it needs a proof.
    pub(crate) fn keep_alive(&self, tag: Tag) -> Option<Vec<u8>> {
        match &self.keys {
            Some(keys) => self.encode(Kind::KeepAlive, tag, &keys.nonce),
            None => Some(tag.header_from(self.role, Kind::KeepAlive).into()),
        }
    }

    /// Reads a message with a body, which counts as received then.
    ///
    /// # Errors
    /// The reason why the message is not valid.
    pub(crate) fn decode<M: DeserializeOwned>(&self, message: &[u8]) -> Result<M, Unreadable> {
        let received = match &self.keys {
            _ if !self.is_from_peer(message) => Err(Unreadable::Unproven),
            Some(keys) => keys.decode(message),
            None => return wire::decode(message),
        };
        if received.is_err() {
            self.add_forged(1);
        }
        received
    }

    /// Whether it is the peer's reply to a close.
    pub(crate) fn is_close_seen(&self, message: &[u8]) -> bool {
        match self.is_authenticated() {
            true => self.decode::<()>(message).is_ok(),
            false => self.is_plain(message),
        }
    }

    /// Whether it is the peer's sign of life.
    pub(crate) fn is_keep_alive(&self, message: &[u8]) -> bool {
        match self.is_authenticated() {
            true => self.decode::<[u8; NONCE]>(message).is_ok(),
            false => self.is_plain(message),
        }
    }

    /// Whether it is the server's reset, even if the server has forgotten this connection. A server has no use for one.
    pub(crate) fn is_reset(&self, message: &[u8]) -> bool {
        if self.role == Role::Server {
            return false;
        }
        let Some(keys) = &self.keys else { return self.is_plain(message) };
        let is_genuine = self.is_from_peer(message) && reveals(message, &keys.reset);
        if !is_genuine {
            self.add_forged(1);
        }
        is_genuine
    }

    /// Whether it asks for a sign of life, without a proof: the sender does not know this connection, or pretends so. A
    /// server that has forgotten the connection replies to the sign of life with a [reset](Self::is_reset).
    pub(crate) fn asks_for_keep_alive(&self, message: &[u8]) -> bool {
        let is_reset = matches!(wire::header(message), Some((Kind::Reset, _))) && message.len() == HEADER;
        self.role == Role::Client && self.is_authenticated() && is_reset && self.is_from_peer(message)
    }

    /// Whether a message without a proof is the peer's, on a connection that has no proofs.
    fn is_plain(&self, message: &[u8]) -> bool {
        let is_plain = self.is_from_peer(message);
        if !is_plain {
            self.add_forged(1);
        }
        is_plain
    }

    /// Whether a message about the connection says that the other end has sent it. Else it is one of this end's own, which
    /// somebody has sent back.
    fn is_from_peer(&self, message: &[u8]) -> bool {
        wire::sender(message).is_some_and(|sender| sender != self.role)
    }

    /// The keys for the client's and for the server's messages, on the client.
    #[cfg(test)]
    pub(crate) fn keys(&self) -> Option<[[u8; 32]; 2]> {
        self.keys.as_ref().map(|keys| [*keys.ours.bytes(), *keys.theirs.bytes()])
    }

    /// Adds forged messages from before the session.
    pub(crate) fn add_forged(&self, count: u64) {
        self.forged.fetch_add(count, Ordering::Relaxed);
    }
}

impl Keys {
    fn decode<M: DeserializeOwned>(&self, message: &[u8]) -> Result<M, Unreadable> {
        let whole = wire::unchecked(message)?;
        let (version, body) = wire::open(message)?;
        if version & PROVEN == 0 {
            return Err(Unreadable::Unproven);
        }
        let (sealed, mac) = whole.split_last_chunk::<MAC>().ok_or(Unreadable::Malformed)?;
        let body = body.get(..body.len().saturating_sub(MAC)).unwrap_or_default();
        let (body, counter) = body.split_last_chunk::<COUNTER>().ok_or(Unreadable::Malformed)?;
        if !self.theirs.is_tag(&[sealed], mac) {
            return Err(Unreadable::Unproven);
        }
        let mut received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        if !received.insert(u64::from_le_bytes(*counter)) {
            return Err(Unreadable::Unproven);
        }
        match postcard::take_from_bytes(body) {
            Ok((message, [])) => Ok(message),
            _ => Err(Unreadable::Malformed),
        }
    }
}
