//! The program `bertha-bench passes`: the cost and the gain of optimisation passes at run time, by calls
//! through a stack that passes rewrote, and through an equal stack written by hand.

mod rows;
mod rules;
mod stacks;

pub(crate) use rows::{instructions, run};
use rules::{MergeFollowing, NeverMatches, SkipNothing};

use crate::Error;
use crate::overhead::{Call, Path};
use std::fmt;

/// A measured operation: a call at an end of a connection that has a stack; the peer has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    /// The stack.
    pub(crate) stack: Stack,
    /// The path below the stack: one of [`PATHS`].
    pub(crate) path: Path,
    /// The call.
    pub(crate) call: Call,
}

/// The paths below the measured stacks.
pub(crate) const PATHS: [Path; 2] = [Path::Memory, Path::NegotiatedUdp];

/// A stack of layers that do nothing, most of them without purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stack {
    /// All eight layers, as an application may write them.
    Written,
    /// The eight layers, after passes that match nowhere.
    Unmatched,
    /// The eight layers, after passes that leave a single layer.
    Optimised,
    /// The single layer, written by hand.
    ByHand,
}

impl Stack {
    /// All stacks.
    pub(crate) const ALL: [Self; 4] = [Self::Written, Self::Unmatched, Self::Optimised, Self::ByHand];
}

impl Case {
    /// Returns every measured case.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        PATHS.into_iter().flat_map(|path| {
            Call::ALL
                .into_iter()
                .flat_map(move |call| Stack::ALL.into_iter().map(move |stack| Self { stack, path, call }))
        })
    }

    /// Returns the case whose probe has this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::all().find(|case| case.to_string() == name)
    }

    /// Runs the call this many times, for the instruction counter.
    ///
    /// # Errors
    /// [`ErrorKind::Socket`](crate::ErrorKind::Socket) when the ends can't be connected; errors of the
    /// connections.
    pub(crate) fn probe(self, iterations: u64) -> Result<(), Error> {
        self.open()?(iterations)
    }
}

/// Writes the name of the case's probe.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stack = match self.stack {
            Stack::Written => "written",
            Stack::Unmatched => "unmatched",
            Stack::Optimised => "optimised",
            Stack::ByHand => "by-hand",
        };
        write!(f, "passes-{}-{}-{stack}", self.path.probe(), self.call.probe())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_cases() {
        assert!(Case::all().all(|case| Case::named(&case.to_string()) == Some(case)));
        assert_eq!(Case::named("passes-memory-send"), None);
    }

    #[test]
    fn every_case_runs() {
        for case in Case::all() {
            case.probe(3).unwrap();
        }
    }
}
