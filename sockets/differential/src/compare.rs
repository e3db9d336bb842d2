//! Two runs of a program, and the shortest part of it whose runs still differ.

use crate::built::Outcome;
use crate::player::Player;
use crate::program::Program;
use std::fmt::{self, Write};
use std::io;

/// Two runs that differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The program.
    pub program: Program,
    /// The words on kernel sockets.
    pub expected: Outcome,
    /// The words on the other sockets.
    pub found: Outcome,
}

/// Plays a program on kernel sockets and behind a command. Returns `None` if both runs say the same.
///
/// A run on kernel sockets that does not say the same again is no measure, and counts as no difference.
///
/// # Errors
/// Errors of [`Player::play`].
pub fn compare(player: &Player, program: &Program, behind: &[String]) -> io::Result<Option<Difference>> {
    let expected = player.play(program, &[])?;
    let found = player.play(program, behind)?;
    if expected == found {
        return Ok(None);
    }
    for _ in 0..2 {
        if player.play(program, &[])? == found {
            return Ok(None);
        }
    }
    Ok(Some(Difference { program: program.clone(), expected, found }))
}

/// Leaves out steps as long as the runs differ.
///
/// # Errors
/// Errors of [`Player::play`].
pub fn shrink(player: &Player, found: Difference, behind: &[String]) -> io::Result<Difference> {
    let mut smallest = found;
    let mut part = smallest.program.steps.len() / 2;
    while part > 0 {
        let mut at = 0;
        while at + part <= smallest.program.steps.len() {
            match compare(player, &smallest.program.without(at..at + part), behind)? {
                Some(smaller) => smallest = smaller,
                None => at += part,
            }
        }
        part /= 2;
    }
    Ok(smallest)
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "the program\n{}", self.program)?;
        let (expected, found) = (&self.expected.lines, &self.found.lines);
        let same = expected.iter().zip(found).take_while(|(expected, found)| expected == found).count();
        let shown = same.saturating_sub(6);
        for line in &expected[shown..same] {
            writeln!(f, "  {line}")?;
        }
        let mut side = |sign: char, lines: &[String]| {
            lines[same..].iter().take(6).try_fold((), |(), line| writeln!(f, "{sign} {line}"))
        };
        side('-', expected)?;
        side('+', found)?;
        f.write_char('\n')
    }
}
