//! Random programs of socket calls, played once on kernel sockets and once on others, with equal results.
//!
//! | module | its purpose |
//! |---|---|
//! | [`program`] | programs, made out of seeds |
//! | [`player`] | the interpreter, a program in C without any library, and a run of it |
//! | [`hardships`] | programs that are hard on sockets, with the right outcome in their lines |
//! | [`compare`] | two runs of a program, and the shortest part of it whose runs still differ |
//!
//! The interpreter leaves out each step whose outcome depends on time, by what it knows from the steps
//! before. So every list of steps is a program, a part of a program is a program, and two runs on sockets
//! of the kernel print equal lines.

#![forbid(unsafe_code)]

mod built;
pub mod compare;
pub mod hardships;
pub mod player;
pub mod program;

pub use built::Outcome;
