//! The reasons for which a program is not run.

use crate::SignalSet;
use crate::message::Register;
use bertha_core::{Error, ErrorKind};
use std::fmt;

/// The reason for which a program is not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// A clause refers to instructions that the program lacks.
    NoSuchInstruction {
        /// The index of the clause.
        clause: usize,
    },
    /// The clauses together run more than 256 instructions, which is possible where they share instructions.
    TooMuchWork {
        /// Number of instructions.
        instructions: usize,
    },
    /// An instruction reads a register that no datapath has.
    NoSuchRegister(Register),
    /// The program reports more than 110 registers.
    TooManyReports {
        /// Number of reported registers.
        reports: usize,
    },
    /// The program reads signals that the datapath lacks.
    MissingSignals(SignalSet),
    /// The datapath holds the maximum number of programs.
    TableFull {
        /// Maximum number of programs.
        limit: usize,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchInstruction { clause } => {
                write!(f, "clause {clause} of the program refers to instructions that it lacks")
            }
            Self::TooMuchWork { instructions } => {
                write!(
                    f,
                    "the program runs {instructions} instructions for each acknowledgement; at most 256 are allowed"
                )
            }
            Self::NoSuchRegister(register) => {
                write!(f, "the program reads {register:?}, which no datapath has; shorten its expressions")
            }
            Self::TooManyReports { reports } => {
                write!(f, "the program reports {reports} registers; at most 110 are allowed")
            }
            Self::MissingSignals(signals) => {
                write!(f, "the program reads {signals}, which this datapath lacks")
            }
            Self::TableFull { limit } => {
                write!(f, "the datapath holds {limit} programs already")
            }
        }
    }
}

impl std::error::Error for Refused {}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        let kind = match refused {
            Refused::MissingSignals(_) => ErrorKind::Refused,
            Refused::TableFull { .. } => ErrorKind::Exhausted,
            _ => ErrorKind::Malformed,
        };
        Self::new(kind, refused.to_string()).at("CCP")
    }
}
