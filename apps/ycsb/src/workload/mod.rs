//! The way from a workload's parameters to the operations that a connection carries out.

mod layout;
mod load;
mod mixed;

use bertha_kvstore::{Body, Key};
use rand::rngs::StdRng;
use serde::{Deserialize, Serialize};

pub use layout::Layout;
pub use load::Load;
pub use mixed::Mixed;

/// The kind of an operation, by which it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Reads a record.
    Read,
    /// Reads records that follow one another in the order of keys; measured as a single operation.
    Scan,
    /// Overwrites a field, or all of them.
    Update,
    /// Writes a new record.
    Insert,
    /// Reads a record and then overwrites a field; measured as a single operation.
    ReadModifyWrite,
}

impl Kind {
    /// All kinds, in the order of reports.
    pub const ALL: [Self; 5] = [Self::Read, Self::Scan, Self::Update, Self::Insert, Self::ReadModifyWrite];

    /// Returns the name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Scan => "scan",
            Self::Update => "update",
            Self::Insert => "insert",
            Self::ReadModifyWrite => "read-modify-write",
        }
    }
}

/// An operation with everything that its requests need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reads all fields.
    Read {
        /// The record.
        key: String,
    },
    /// Reads all fields of records in the order of keys.
    Scan {
        /// The first record.
        key: String,
        /// Number of records.
        count: u32,
    },
    /// Overwrites a part of a record.
    Update {
        /// The record.
        key: String,
        /// Offset of the part, in bytes.
        offset: u32,
        /// New content of the part.
        bytes: Vec<u8>,
    },
    /// Writes a new record.
    Insert {
        /// Number behind the key.
        number: u64,
        /// The record.
        key: String,
        /// Content of all fields.
        record: Vec<u8>,
    },
    /// Reads a record, and updates it once the read is answered.
    ReadModifyWrite {
        /// The record.
        key: String,
        /// Offset of the part to overwrite, in bytes.
        offset: u32,
        /// New content of the part.
        bytes: Vec<u8>,
    },
}

/// The requests of an operation to the store, one request after another: all about a single key, or a scan
/// that goes on from page to page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Kind under which the operation is counted.
    pub kind: Kind,
    /// Number of the record that the operation inserts, if it does.
    pub inserts: Option<u64>,
    /// The record, or the first of a scan.
    pub key: Key,
    /// The first request.
    pub first: Body,
    /// The second request, sent once `first` has been answered with success.
    pub then: Option<Body>,
}

impl Request {
    /// Makes the requests of an operation. Replies to scans have at most `room` bytes.
    pub fn new(operation: Operation, room: u32) -> Self {
        let (kind, inserts, key, first, then) = match operation {
            Operation::Read { key } => (Kind::Read, None, key, Body::Get, None),
            Operation::Scan { key, count } => (Kind::Scan, None, key, Body::Scan { count, room }, None),
            Operation::Update { key, offset, bytes } => {
                (Kind::Update, None, key, Body::Update { offset, bytes: bytes.into() }, None)
            }
            Operation::Insert { number, key, record } => {
                (Kind::Insert, Some(number), key, Body::Put(record.into()), None)
            }
            Operation::ReadModifyWrite { key, offset, bytes } => {
                let then = Body::Update { offset, bytes: bytes.into() };
                (Kind::ReadModifyWrite, None, key, Body::Get, Some(then))
            }
        };
        Self { kind, inserts, key: key.into(), first, then }
    }
}

/// A source of a connection's operations.
pub trait Operations: Send {
    /// Returns the next operation; `None`, from then on always, when there are no more.
    fn next(&mut self, rng: &mut StdRng) -> Option<Operation>;

    /// Returns the number of operations that are left; `None` means no end.
    fn remaining(&self) -> Option<u64>;

    /// Records that the insert of record `number` is over, carried out or given up.
    fn settle(&mut self, number: u64);
}
