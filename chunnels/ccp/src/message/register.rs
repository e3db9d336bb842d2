//! The registers of programs.

/// A register, or a constant in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Register {
    /// A variable of the program that is not reported.
    Control {
        /// Its index.
        index: u32,
        /// Whether each report resets it.
        is_volatile: bool,
    },
    /// A constant.
    Immediate(u32),
    /// 0: the condition; 1: whether clauses after a true one run; 2: whether to report; 3: the timer in microseconds; 4: the window
    /// in bytes; 5: the rate in bytes per second.
    Implicit(u32),
    /// A variable of one run of the program.
    Local(u32),
    /// A signal, by its place in [`Signal::ALL`](crate::Signal::ALL).
    Signal(u32),
    /// A variable of the program that is reported.
    Report {
        /// Its index, and the place in the report.
        index: u32,
        /// Whether each report resets it.
        is_volatile: bool,
    },
    /// A part of an expression.
    Temporary(u32),
}
