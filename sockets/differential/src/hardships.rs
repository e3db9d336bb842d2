//! Programs that are hard on sockets: signals and other threads in the midst of calls, children, other programs in the place of one, kills,
//! and no more descriptors.

use crate::built::{Built, Outcome};
use std::ffi::OsStr;
use std::io;

/// The built programs.
#[derive(Debug)]
pub struct Hardships(Built);

impl Hardships {
    /// Builds the programs with the C compiler of the system.
    ///
    /// # Errors
    /// Errors of the file system and of starting the compiler; [`io::ErrorKind::Other`] with the compiler's words.
    pub fn build() -> io::Result<Self> {
        Built::of("hardships").map(Self)
    }

    /// Returns the names of the programs.
    ///
    /// # Errors
    /// Errors of [`play`](Self::play).
    pub fn names(&self) -> io::Result<Vec<String>> {
        self.0.run(None, &[]).map(|outcome| outcome.lines)
    }

    /// Runs a program behind the words of a command, or without any.
    ///
    /// # Errors
    /// Errors of starting the program and of its files.
    pub fn play(&self, name: &str, behind: &[String]) -> io::Result<Outcome> {
        self.0.run(Some(OsStr::new(name)), behind)
    }

    /// Returns how many runs had a connection that shared memory, by what a program sees of its own.
    ///
    /// # Errors
    /// Errors of reading the file in which it is told.
    pub fn rings(&self) -> io::Result<u64> {
        self.0.rings()
    }
}
