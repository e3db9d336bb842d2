//! The TCP connections of a queue. The module is without I/O except for [`drive`], which moves segments
//! between the connections and the network.

mod cookies;
mod drive;
mod guard;
mod stream;
mod table;
#[cfg(test)]
mod tests;
mod wire;

use bertha_core::{Error, ErrorKind};
pub(crate) use drive::{Driver, Segment};
use std::borrow::Cow;
pub(crate) use stream::{Settings, Stream};
pub(crate) use table::Events;

/// Name of the datapath in errors.
pub(crate) const NAME: &str = "DpdkTcp";

/// Returns an error of this datapath.
#[cold]
pub(crate) fn failure(kind: ErrorKind, what: impl Into<Cow<'static, str>>) -> Error {
    Error::new(kind, what).at(NAME)
}
