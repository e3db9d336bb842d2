//! The program: its command line, the daemon that it starts, and the threads of the process.

pub(crate) mod arguments;
pub(crate) mod daemon;
mod threads;
