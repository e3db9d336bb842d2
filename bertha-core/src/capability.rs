//! The capability of a Chunnel, by which the two ends decide if they are compatible.
//!
//! Two Chunnels are compatible if one can receive the messages that the other sends. This can't be computed, so the
//! authors define it: each Chunnel has a capability, and each capability type compares its values. Different
//! Chunnels may share a capability type, as two implementations of TLS would. The capability contains the
//! parameters on which both ends must agree (codec, shard map), so that ends with different parameters are
//! refused when they connect instead of failing later.
//!
//! ```
//! use bertha_core::Capability;
//! use serde::{Deserialize, Serialize};
//! use std::collections::BTreeSet;
//!
//! /// Both ends must use the same block size.
//! #[derive(Debug, PartialEq, Serialize, Deserialize, Capability)]
//! #[capability(exact)]
//! struct Blocks { size: u32 }
//!
//! /// The ends need one cipher that both know.
//! #[derive(Debug, Serialize, Deserialize, Capability)]
//! #[capability(overlap, version = 2)]
//! struct Ciphers(BTreeSet<String>);
//!
//! assert!(Blocks { size: 4096 }.compatible(&Blocks { size: 512 }).is_err());
//! ```

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::fmt;

/// A capability type: its identity, its version on the wire, and its comparison.
///
/// It is implemented by `#[derive(Capability)]` with `#[capability(exact)]`, `#[capability(overlap)]` or
/// `#[capability(compare = path)]`; `version = N` sets the version.
pub trait Capability: Serialize + DeserializeOwned + fmt::Debug + Send + Sync + 'static {
    /// The identity of the type: crate and name, as in `bertha-chunnels::ShardMap`.
    const ID: &'static str;

    /// The version of its encoding. Capabilities of different versions are incompatible.
    const VERSION: u16 = 1;

    /// Returns a short label that distinguishes this value from others of its type in a printed stack:
    /// `postcard` in `Serialize[postcard]`.
    fn label(&self) -> Option<String> {
        None
    }

    /// Compares this capability with the peer's. The server calls it: `self` is the server's capability,
    /// `other` the client's.
    ///
    /// # Errors
    /// A [`Mismatch`] with the reason if they are incompatible. Both ends report it.
    fn compatible(&self, other: &Self) -> Result<(), Mismatch>;
}

/// The reason why two capabilities are incompatible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch(String);

impl Mismatch {
    /// Returns a mismatch for this reason, in lower case and without a full stop.
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Mismatch {}

/// Compares two capabilities, which are compatible if equal.
///
/// # Errors
/// A [`Mismatch`] that shows both values.
pub fn exact<C: PartialEq + fmt::Debug>(ours: &C, theirs: &C) -> Result<(), Mismatch> {
    if ours == theirs {
        return Ok(());
    }
    Err(Mismatch(format!("the server has {ours:?}, the client {theirs:?}")))
}

/// Compares one part of two capabilities, which are compatible if it is equal. The reason names this part alone.
///
/// # Errors
/// A [`Mismatch`] that names `part` and shows both values.
pub fn exact_part<P: PartialEq + fmt::Display>(part: &str, ours: &P, theirs: &P) -> Result<(), Mismatch> {
    if ours == theirs {
        return Ok(());
    }
    Err(Mismatch(format!("{part}: the server has {ours}, the client {theirs}")))
}

/// A set of labels, of which two ends need at least one in common.
#[diagnostic::on_unimplemented(
    message = "`overlap` compares sets and lists, and `{Self}` is neither",
    label = "a field that is neither a set nor a list",
    note = "use a `BTreeSet` or a `Vec`, or another comparison: `#[capability(exact)]`, `#[capability(compare = path)]`"
)]
pub trait Overlap {
    /// Returns true if the two sets have an element in common.
    fn overlaps(&self, other: &Self) -> bool;
}

impl<T: Ord> Overlap for BTreeSet<T> {
    fn overlaps(&self, other: &Self) -> bool {
        !self.is_disjoint(other)
    }
}

impl<T: PartialEq> Overlap for Vec<T> {
    fn overlaps(&self, other: &Self) -> bool {
        self.iter().any(|label| other.contains(label))
    }
}

/// Compares two capabilities, which are compatible if they have an element in common.
///
/// # Errors
/// A [`Mismatch`] that shows both values.
pub fn overlap<C: Overlap + fmt::Debug>(ours: &C, theirs: &C) -> Result<(), Mismatch> {
    if ours.overlaps(theirs) {
        return Ok(());
    }
    Err(Mismatch(format!("the server has {ours:?}, the client {theirs:?}, and nothing is in both")))
}

/// A capability of any type, as negotiation uses it. Implemented for every [`Capability`].
pub trait Declared: fmt::Debug + Send + Sync {
    /// [`Capability::ID`].
    fn id(&self) -> &'static str;

    /// [`Capability::VERSION`].
    fn version(&self) -> u16;

    /// [`Capability::label`].
    fn label(&self) -> Option<String>;

    /// Returns the capability's encoding, for the offer.
    ///
    /// # Errors
    /// Fails if its `Serialize` implementation fails.
    fn encode(&self) -> Result<Vec<u8>, Mismatch>;

    /// Compares this capability with the capability of the peer, which is still encoded.
    ///
    /// # Errors
    /// A [`Mismatch`] if identity or version differ, the encoding is malformed, or the two are incompatible.
    fn compare(&self, id: &str, version: u16, encoding: &[u8]) -> Result<(), Mismatch>;
}

fn same_type(ours: &dyn Declared, id: &str, version: u16) -> Result<(), Mismatch> {
    if ours.id() != id {
        return Err(Mismatch(format!("{} is not {id}", ours.id())));
    }
    if ours.version() != version {
        let what = format!("the server has version {}, the client version {version}", ours.version());
        return Err(Mismatch(what));
    }
    Ok(())
}

impl<C: Capability> Declared for C {
    fn id(&self) -> &'static str {
        C::ID
    }

    fn version(&self) -> u16 {
        C::VERSION
    }

    fn label(&self) -> Option<String> {
        Capability::label(self)
    }

    fn encode(&self) -> Result<Vec<u8>, Mismatch> {
        // The capacity is enough for most capabilities, which are then encoded with one allocation.
        postcard::to_extend(self, Vec::with_capacity(128))
            .map_err(|error| Mismatch(format!("{} can't be encoded: {error}", C::ID)))
    }

    fn compare(&self, id: &str, version: u16, encoding: &[u8]) -> Result<(), Mismatch> {
        same_type(self, id, version)?;
        let theirs = postcard::from_bytes(encoding)
            .map_err(|error| Mismatch(format!("its capability is malformed: {error}")))?;
        self.compatible(&theirs)
    }
}

/// The capability of a Chunnel without parameters: only its name and version are compared.
#[derive(Debug)]
pub(crate) struct Plain {
    pub(crate) id: &'static str,
    pub(crate) version: u16,
}

impl Declared for Plain {
    fn id(&self) -> &'static str {
        self.id
    }

    fn version(&self) -> u16 {
        self.version
    }

    fn label(&self) -> Option<String> {
        None
    }

    fn encode(&self) -> Result<Vec<u8>, Mismatch> {
        Ok(Vec::new())
    }

    fn compare(&self, id: &str, version: u16, _: &[u8]) -> Result<(), Mismatch> {
        same_type(self, id, version)
    }
}
