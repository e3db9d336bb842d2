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
//! At any time the receiver may send `Refused` instead, and closes. Both ends hash the bytes while they pass;
//! to continue a transfer each end reads the existing part once, so the offset is a position that both have
//! verified.
//!
//! A receiver neither reads nor describes files that it has not received itself, and reveals no digest of
//! bytes that the sender may not know: the proof shows if the sender has the same bytes.

use crate::{Digest, Name};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Largest number of bytes in a chunk.
pub const CHUNK: usize = 128 * 1024;

/// A message of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// The sender offers this file.
    Offer {
        /// Name of the file at the receiver.
        name: Name,
        /// Length of the file in bytes.
        length: u64,
        /// Nonce of the receiver's proof; new for each connection.
        nonce: [u8; 16],
    },
    /// The receiver has some part of it.
    Continue {
        /// Number of bytes from the beginning.
        offset: u64,
        /// Proof that the receiver knows their digest: [`Digest::proof`].
        proof: Digest,
    },
    /// The following chunks begin here.
    Begin {
        /// The offset of `Continue`, or 0.
        offset: u64,
    },
    /// The next bytes of the file, from one to [`CHUNK`].
    Chunk(#[serde(with = "serde_bytes")] Vec<u8>),
    /// The file is complete.
    End {
        /// The digest of the whole file.
        digest: Digest,
    },
    /// The file has its name, and is on the disk.
    Kept {
        /// Digest of the file.
        digest: Digest,
    },
    /// The receiver does not accept the file.
    Refused(Refusal),
}

impl Message {
    /// Returns the message's name, for errors.
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

/// The reason why a receiver does not accept a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// The name is not permitted for a file in a directory.
    Name,
    /// The file is longer than the receiver accepts.
    TooLong {
        /// Largest length of files, in bytes.
        max: u64,
    },
    /// A file with this name and other content exists.
    Exists,
    /// A newer connection sends this file.
    Superseded,
    /// The bytes that arrived have another digest, and were discarded.
    WrongDigest {
        /// Digest of the bytes, if all of them came over this connection.
        found: Option<Digest>,
    },
    /// The messages make no sense in this order, or a chunk exceeds its bounds.
    OutOfTurn,
    /// The receiver could not write the file.
    Storage,
}

impl Refusal {
    /// Returns true if it makes sense to offer the file again.
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
            Self::Superseded => f.write_str("a newer connection sends a file of this name and length"),
            Self::WrongDigest { found: Some(found) } => {
                write!(f, "the hash is wrong: what arrived has {found}")
            }
            Self::WrongDigest { found: None } => f.write_str("the hash is wrong"),
            Self::OutOfTurn => f.write_str("this end broke the protocol"),
            Self::Storage => f.write_str("it could not be written there"),
        }
    }
}
