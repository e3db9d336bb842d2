//! The common part of Bertha's programs: a command line that documents itself, the log, the end by a signal,
//! exit codes, options for TLS and for being watched, and texts that go to a terminal.

#![forbid(unsafe_code)]

mod cannot_listen;
mod crowd;
mod documents;
mod escape;
pub mod exit;
pub mod exposure;
mod hold;
mod log;
mod ready_for_signals;
mod run;
mod say;
mod socket_folder;
pub mod style;
mod termination;
#[cfg(feature = "tls")]
pub mod tls;
pub mod values;
#[cfg(feature = "watching")]
mod watching;

pub use cannot_listen::cannot_listen;
pub use crowd::Crowd;
pub use escape::escaped;
pub use hold::Hold;
pub use ready_for_signals::until_ready_for_signals;
pub use run::{run, run_async, run_async_on};
pub use say::say;
pub use socket_folder::make_socket_folder;
pub use termination::Termination;
#[cfg(feature = "watching")]
pub use watching::{Metrics, Value, Watched, Watching};
