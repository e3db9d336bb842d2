//! The state of a connection, read from a snapshot of the store.

use super::description::Description;
use super::record::{self, Presence, RECORD, Record, UPGRADE};
use crate::rendezvous::store::{Revision, Snapshot};
use std::collections::BTreeMap;

/// The state of a connection, as a snapshot shows it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct View {
    /// The moment of the snapshot.
    pub revision: Revision,
    /// The record.
    pub record: Recorded,
    /// The version of the record's entry.
    pub record_version: Revision,
    /// True if there is still time for the upgrade under way.
    pub in_time: bool,
    /// All participants, with the versions of their entries. A participant whose entry is no [`Presence`]
    /// counts as a participant that has agreed to nothing.
    pub participants: BTreeMap<u64, (Revision, Presence)>,
}

/// The entry of the record.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Recorded {
    /// No entry.
    Absent,
    /// An entry that is no record, and the reason.
    Malformed(String),
    /// A record.
    Record(Record),
}

impl View {
    /// Reads a snapshot. Entries of other kinds are ignored.
    pub fn of(snapshot: &Snapshot) -> Self {
        let record = match snapshot.entries.get(RECORD).map(|entry| record::decode::<Record>(&entry.value)) {
            None => Recorded::Absent,
            Some(Ok(record)) if record.is_beyond_reach() => {
                Recorded::Malformed("its rounds are beyond all that can have been".into())
            }
            Some(Ok(record)) => Recorded::Record(record),
            Some(Err(reason)) => Recorded::Malformed(reason),
        };
        let participants = snapshot.entries.iter().filter_map(|(key, entry)| {
            let id = record::participant_of(key)?;
            let presence = record::decode(&entry.value).unwrap_or(Presence::since(0));
            Some((id, (entry.version, presence)))
        });
        Self {
            revision: snapshot.revision,
            record,
            record_version: snapshot.version(RECORD),
            in_time: snapshot.entries.contains_key(UPGRADE),
            participants: participants.collect(),
        }
    }

    /// Returns the participants that have not agreed to this stack as the stack of `round`.
    pub fn missing(&self, round: u64, stack: &Description) -> impl Iterator<Item = u64> {
        let all = self.participants.iter();
        all.filter(move |(_, (_, presence))| !presence.has_accepted(round, stack)).map(|(id, _)| *id)
    }
}
