//! The keys for the messages about a connection, and the counters that distinguish these messages from
//! replays.

use super::schedule::{MAC, MacKey};
use crate::wire::{self, HEADER, PROVEN, Unreadable, VERSION};
use bertha_core::Role;
use bertha_core::replay_window::ReplayWindow;
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::atomic::{AtomicU64, Ordering};

/// Two keys, one for each direction.
#[derive(Debug)]
pub(super) struct ControlKeys {
    pub(super) ours: MacKey,
    pub(super) theirs: MacKey,
    sent: AtomicU64,
    received: Mutex<ReplayWindow<2>>,
}

/// The labels of the client's and of the server's key.
pub(super) type Labels = [&'static str; 2];

/// Keys from the secret of the credentials.
pub(super) const BY_CREDENTIALS: Labels = ["client", "server"];

/// Keys from the secret of the stack's secure Chunnel as well.
pub(super) const BY_CHUNNEL: Labels = ["secured client", "secured server"];

const COUNTER: usize = 8;

impl ControlKeys {
    /// Makes the keys of the end with this role, for the connection with this transcript.
    pub(super) fn new(role: Role, secret: &MacKey, labels: Labels, transcript: &[u8; 32]) -> Self {
        let [client, server] = labels.map(|label| secret.derive(label, transcript));
        let (ours, theirs) = if role == Role::Server { (server, client) } else { (client, server) };
        Self { ours, theirs, sent: AtomicU64::new(0), received: Mutex::default() }
    }

    /// Writes a message with the next counter and its MAC.
    pub(super) fn encode<M: Serialize>(&self, header: [u8; HEADER], message: &M) -> Option<Vec<u8>> {
        let mut bytes = wire::begin(header, VERSION | PROVEN, message).ok()?;
        bytes.extend(self.sent.fetch_add(1, Ordering::Relaxed).to_le_bytes());
        let mac = self.ours.tag(&[&bytes]);
        bytes.extend(mac);
        Some(wire::checked(bytes))
    }

    /// Reads a message of the peer, which then counts as received.
    pub(super) fn decode<M: DeserializeOwned>(&self, message: &[u8]) -> Result<M, Unreadable> {
        let whole = wire::unchecked(message)?;
        let Parts { body, counter } = Parts::of(message)?;
        let (sealed, mac) = whole.split_last_chunk::<MAC>().ok_or(Unreadable::Malformed)?;
        if !self.theirs.is_tag(&[sealed], mac) {
            return Err(Unreadable::Unproven);
        }
        let mut received = self.received.lock();
        if !received.insert(counter) {
            return Err(Unreadable::Unproven);
        }
        drop(received);
        of_body(body)
    }
}

/// The part of a proven message that is in front of the MAC.
pub(super) struct Parts<'m> {
    pub(super) body: &'m [u8],
    pub(super) counter: u64,
}

impl<'m> Parts<'m> {
    pub(super) fn of(message: &'m [u8]) -> Result<Self, Unreadable> {
        let (version, body) = wire::open(message)?;
        if version & PROVEN == 0 {
            return Err(Unreadable::Unproven);
        }
        let (body, _) = body.split_last_chunk::<MAC>().ok_or(Unreadable::Malformed)?;
        let (body, counter) = body.split_last_chunk::<COUNTER>().ok_or(Unreadable::Malformed)?;
        Ok(Self { body, counter: u64::from_le_bytes(*counter) })
    }
}

pub(super) fn of_body<M: DeserializeOwned>(body: &[u8]) -> Result<M, Unreadable> {
    match postcard::take_from_bytes(body) {
        Ok((message, [])) => Ok(message),
        _ => Err(Unreadable::Malformed),
    }
}

/// Reads a message whose proof this end has no key for.
pub(super) fn decode_unverified<M: DeserializeOwned>(message: &[u8]) -> Result<M, Unreadable> {
    of_body(Parts::of(message)?.body)
}
