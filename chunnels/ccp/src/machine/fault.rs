//! The faults that end the run of a program.

use std::fmt;

/// The reason for which a run of a program ended early. The datapath keeps window and rate, makes no report,
/// and runs the program again at the next acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// A sum or a product did not fit in 64 bits.
    Overflow,
    /// A difference was negative.
    Underflow,
    /// A divisor was zero.
    DivisionByZero,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Overflow => "a sum or a product does not fit in 64 bits",
            Self::Underflow => "a difference is negative",
            Self::DivisionByZero => "a divisor is zero",
        })
    }
}

impl std::error::Error for Fault {}
