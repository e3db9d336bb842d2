//! The registers of programs.

/// A register, or a constant in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Register {
    /// A variable of the program that is not reported.
    Control {
        /// The index of the register.
        index: u32,
        /// True if each report resets the register.
        is_volatile: bool,
    },
    /// A constant.
    Immediate(u32),
    /// 0: the condition; 1: true if clauses after a true clause run; 2: true if a report is due; 3: the timer
    /// in microseconds; 4: the window in bytes; 5: the rate in bytes per second.
    Implicit(u32),
    /// A variable of one run of the program.
    Local(u32),
    /// A signal, by its index in [`Signal::ALL`](crate::Signal::ALL).
    Signal(u32),
    /// A variable of the program that is reported.
    Report {
        /// The index of the register, and of its value in the report.
        index: u32,
        /// True if each report resets the register.
        is_volatile: bool,
    },
    /// A part of an expression.
    Temporary(u32),
}
