//! The interpreter of programs.

use crate::built::{Built, Outcome};
use crate::program::Program;
use std::io;

/// The built interpreter.
#[derive(Debug)]
pub struct Player(Built);

impl Player {
    /// Builds the interpreter with the C compiler of the system.
    ///
    /// # Errors
    /// Errors of the file system and of starting the compiler; [`io::ErrorKind::Other`] with the compiler's words.
    pub fn build() -> io::Result<Self> {
        Built::of("player").map(Self)
    }

    /// Plays a program behind the words of a command, as `env LD_PRELOAD=..`, or without any.
    ///
    /// # Errors
    /// Errors of starting the interpreter and of its files.
    pub fn play(&self, program: &Program, behind: &[String]) -> io::Result<Outcome> {
        let text = self.0.path("steps");
        std::fs::write(&text, program.to_string())?;
        self.0.run(Some(text.as_os_str()), behind)
    }

    /// Returns how many runs shared memory besides their sockets, as those do whose connections have rings. A player
    /// tells so itself, by the regions of its memory.
    ///
    /// # Errors
    /// Errors of reading the file in which it is told.
    pub fn rings(&self) -> io::Result<u64> {
        self.0.rings()
    }
}
