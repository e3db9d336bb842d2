//! The connections over TCP of a queue. Without I/O but for [`drive`], which moves segments between them and the network.

mod drive;
mod stream;
mod table;
#[cfg(test)]
mod tests;
mod wire;

use bertha_core::{Error, ErrorKind};
pub(crate) use drive::{Driver, Segment};
use std::borrow::Cow;
pub(crate) use stream::Settings;
pub(crate) use table::Events;

/// The name in errors.
pub(crate) const NAME: &str = "DpdkTcp";

/// An error of this datapath.
#[cold]
pub(crate) fn failure(kind: ErrorKind, what: impl Into<Cow<'static, str>>) -> Error {
    Error::new(kind, what).at(NAME)
}
