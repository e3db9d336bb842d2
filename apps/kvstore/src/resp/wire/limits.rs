//! The bounds of commands.

/// The longest argument of a command in bytes.
const LONGEST_ARGUMENT: usize = 16 << 20;

/// The bounds of a command.
#[derive(Debug)]
pub(in crate::resp) struct Limits {
    /// The most arguments, the command's name included.
    pub(super) arguments: usize,
    /// The longest argument in bytes.
    pub(super) argument: usize,
    /// The word in front of "multibulk length" and "bulk length" in errors.
    pub(super) whose: &'static str,
}

impl Limits {
    /// The bounds for clients that may do everything. Redis has the same number of arguments.
    pub(in crate::resp) const ALL: Self =
        Self { arguments: 1 << 20, argument: LONGEST_ARGUMENT, whose: "invalid" };

    /// The bounds for clients that have not logged in, as Redis has them.
    pub(in crate::resp) const STRANGERS: Self =
        Self { arguments: 10, argument: 16 << 10, whose: "unauthenticated" };
}

/// The refusal of a command for which the system has no memory.
pub(in crate::resp) const NO_MEMORY: &str = "OOM the system has no memory for this command";
