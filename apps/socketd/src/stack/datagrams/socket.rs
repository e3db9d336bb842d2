//! A socket of datagrams, as the daemon knows it.

use super::super::roll::Entry;
use super::program::Program;
use bertha_sockets_machine::device::Place;
use std::cell::Cell;

/// A socket of datagrams.
pub(super) struct Socket {
    pub(super) program: Program,
    pub(super) entry: Entry,
    /// The only peer whose datagrams the program wants, or [`NOWHERE`](bertha_sockets_machine::datagrams::NOWHERE).
    pub(super) connected: Cell<Place>,
}
