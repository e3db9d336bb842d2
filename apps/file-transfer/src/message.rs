//! The protocol between sender and receiver.
//!
//! ```text
//! sender                              receiver
//! Offer { name, length, nonce }  ->
//!                             <-      Continue { offset, proof }      how much it has, and a proof of that part's digest
//! Begin { offset }            ->                                      the same, or 0 if that is of another file
//! Chunk, Chunk, ..            ->
//! End { digest }              ->                                      of the whole file
//!                             <-      Kept { digest }
//! ```
//!
//! At any time the receiver may say `Refused` instead, and closes. Both ends hash the bytes while they pass; to go on with a
//! transfer each of them reads the part that is there once, so the offset is one that both have verified.
//!
//! A receiver neither reads nor describes files that it has not received itself, and tells no digest of bytes that the sender may not
//! know: the proof shows whether the sender has the same.

use crate::{Digest, Name};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The most bytes of a chunk.
pub const CHUNK: usize = 128 * 1024;

/// One message of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// The sender has this file.
    Offer {
        /// Its name at the receiver.
        name: Name,
        /// Its length in bytes.
        length: u64,
        /// For the receiver's proof; new for each connection.
        nonce: [u8; 16],
    },
    /// The receiver has some part of it.
    Continue {
        /// How many bytes from the beginning.
        offset: u64,
        /// That the receiver knows their digest: [`Digest::proof`].
        proof: Digest,
    },
    /// The chunks that follow begin here.
    Begin {
        /// That of `Continue`, or 0.
        offset: u64,
    },
    /// The next bytes of the file, from one to [`CHUNK`].
    Chunk(#[serde(with = "serde_bytes")] Vec<u8>),
    /// That was all.
    End {
        /// The digest of the whole file.
        digest: Digest,
    },
    /// The file has its name, and is on the disk.
    Kept {
        /// Its digest.
        digest: Digest,
    },
    /// The receiver does not take the file.
    Refused(Refusal),
}

impl Message {
    /// Its name, for errors.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Offer { .. } => "Offer",
            Self::Continue { .. } => "Continue",
            Self::Begin { .. } => "Begin",
            Self::Chunk(_) => "Chunk",
            Self::End { .. } => "End",
            Self::Kept { .. } => "Kept",
            Self::Refused(_) => "Refused",
        }
    }
}

/// Why a receiver does not take a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// Its name is none for a file in a directory.
    Name,
    /// It is longer than the receiver takes.
    TooLong {
        /// How long files may be, in bytes.
        max: u64,
    },
    /// There is a file of that name with other content.
    Exists,
    /// A newer connection sends the same file.
    Superseded,
    /// The bytes that arrived have another digest, and were thrown away.
    WrongDigest {
        /// The digest of the bytes, if all of them came over this connection.
        found: Option<Digest>,
    },
    /// The messages make no sense in that order, or a chunk exceeds its bounds.
    OutOfTurn,
    /// The receiver could not write it.
    Storage,
}

impl Refusal {
    /// Whether it makes sense to offer the same file again.
    pub(crate) fn passes(self) -> bool {
        matches!(self, Self::Storage)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => f.write_str("a file can't have this name there"),
            Self::TooLong { max } => write!(f, "files may have at most {max} bytes there"),
            Self::Exists => f.write_str("there is another file of this name already"),
            Self::Superseded => f.write_str("a newer connection sends the same file"),
            Self::WrongDigest { found: Some(found) } => {
                write!(f, "the hash is wrong: what arrived has {found}")
            }
            Self::WrongDigest { found: None } => f.write_str("the hash is wrong"),
            Self::OutOfTurn => f.write_str("this end broke the protocol"),
            Self::Storage => f.write_str("it could not be written there"),
        }
    }
}
