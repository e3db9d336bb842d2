//! The entries that participants write into the store.
//!
//! | key | value | lives |
//! |---|---|---|
//! | `record` | a [`Record`]: the stack in force, and the upgrade under way | until the last participant leaves |
//! | `participant/ID` | a [`Presence`], one per participant; ID is 16 hexadecimal digits | as long as it is renewed |
//! | `upgrade` | nothing; says that there is still time for the upgrade | for the time that staging may take |
//!
//! Values are a byte with the version of the format, and then [postcard](https://postcard.jamesmunns.com/wire-format).

use super::description::Description;
use crate::rendezvous::store::limits;
use crate::wire::TEXT_LIMIT;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The key of the record.
pub const RECORD: &str = "record";

/// The key that vanishes when an upgrade takes too long.
pub const UPGRADE: &str = "upgrade";

/// The version of the format.
pub const VERSION: u8 = 2;

const PRESENCE: &str = "participant/";

/// Returns the key of a participant.
pub fn presence_key(id: u64) -> String {
    format!("{PRESENCE}{id:016x}")
}

/// Returns the participant whose key this is.
pub fn participant_of(key: &str) -> Option<u64> {
    let digits = key.strip_prefix(PRESENCE).filter(|digits| digits.len() == 16)?;
    u64::from_str_radix(digits, 16).ok()
}

/// The state of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Record {
    /// A number drawn at random when the record is made. A store that lost its data gets another life, so
    /// that its rounds are never confused with rounds of an earlier life.
    pub life: u64,
    /// The round of the stack in force.
    pub round: u64,
    /// The stack in force.
    pub stack: Description,
    /// The participant that proposed it, or made the record.
    pub leader: u64,
    /// The latest round that was ever proposed. The next round is greater, so that no round stands for two
    /// stacks.
    pub last: u64,
    /// The upgrade under way.
    pub proposal: Option<Proposal>,
    /// The latest failed upgrade.
    pub refusal: Option<Refusal>,
}

/// A stack that a participant wants.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Proposal {
    /// The round that it would have.
    pub round: u64,
    /// The participant that wants it.
    pub proposer: u64,
    /// The stack.
    pub stack: Description,
}

/// The failure of an upgrade.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Refusal {
    /// The round that it would have had.
    pub round: u64,
    /// The participant that refused; `None` if the time was up.
    pub by: Option<u64>,
    /// The Chunnel, and the reason.
    pub reason: String,
}

/// A participant's entry: it shows the participant's consent, and by its existence the participant's
/// presence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Presence {
    /// The round that was in force when the entry was written, as the participant knew it.
    pub active: u64,
    /// The latest round that the participant staged.
    pub accepted: u64,
    /// The CRC-32 of the description of the stack that the participant staged for that round.
    pub check: u32,
}

impl Presence {
    /// Makes the entry of a newcomer.
    pub(super) fn since(round: u64) -> Self {
        Self { active: round, accepted: 0, check: 0 }
    }

    /// Returns true if the participant has agreed to this stack as the stack of `round`, or joined when that
    /// stack was in force.
    pub(super) fn has_accepted(&self, round: u64, stack: &Description) -> bool {
        self.active >= round || (self.accepted == round && self.check == stack.check())
    }
}

/// Encodes a value for the store; `None` if it is too large.
pub(super) fn encode<T: Serialize>(value: &T) -> Option<Vec<u8>> {
    let bytes = postcard::to_extend(value, vec![VERSION]).ok()?;
    (bytes.len() <= limits::VALUE).then_some(bytes)
}

/// Decodes the value in `bytes`.
///
/// # Errors
/// The fault in the bytes.
pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    match bytes.split_first() {
        Some((&VERSION, body)) => match postcard::take_from_bytes(body) {
            Ok((value, [])) => Ok(value),
            _ => Err("it does not follow the format".into()),
        },
        Some((version, _)) => {
            Err(format!("it has version {version}, and this library reads version {VERSION}"))
        }
        None => Err("it is empty".into()),
    }
}

/// Distance by which the rounds of a record may be ahead of the round in force. A writer that takes the last
/// round numbers would leave no number to the participants.
const FAR: u64 = 1 << 32;

/// Returns true if `latest` is further ahead of `round`.
pub(super) fn is_far(latest: u64, round: u64) -> bool {
    latest > round.saturating_add(FAR)
}

impl Record {
    /// Returns the latest round in the record.
    fn latest(&self) -> u64 {
        let proposed = self.proposal.as_ref().map_or(0, |proposal| proposal.round);
        self.last.max(self.round).max(proposed)
    }

    /// Returns true if no participant can have written the record: it names more rounds than there can have
    /// been since it was made.
    pub(super) fn is_beyond_reach(&self) -> bool {
        self.latest() > u64::MAX / 2
    }

    /// Returns true if the rounds of the record are further ahead of `round` than participants can bring
    /// them.
    pub(super) fn is_far_ahead_of(&self, round: u64) -> bool {
        is_far(self.latest(), round)
    }

    /// Returns the record once the upgrade under way is in force; `None` if no upgrade is under way.
    pub(super) fn committed(&self) -> Option<Self> {
        let Proposal { round, stack, proposer: leader } = self.proposal.clone()?;
        Some(Self { round, stack, leader, proposal: None, ..self.clone() })
    }

    /// Returns the record once the upgrade under way has failed.
    pub(super) fn refused(&self, by: Option<u64>, mut reason: String) -> Self {
        reason.truncate((0..=TEXT_LIMIT).rev().find(|&at| reason.is_char_boundary(at)).unwrap_or(0));
        let refusal = self.proposal.as_ref().map(|proposal| Refusal { round: proposal.round, by, reason });
        Self { proposal: None, refusal: refusal.or_else(|| self.refusal.clone()), ..self.clone() }
    }

    /// Returns the record with an upgrade to `stack` under way; `None` if the round numbers are used up.
    pub(super) fn proposed(&self, proposer: u64, stack: Description) -> Option<Self> {
        let round = self.last.max(self.round).checked_add(1)?;
        Some(Self { last: round, proposal: Some(Proposal { round, proposer, stack }), ..self.clone() })
    }
}
