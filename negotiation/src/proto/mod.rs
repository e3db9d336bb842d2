//! The protocol without its I/O: bytes, time and randomness come in as arguments.

mod client;
mod idle;
mod matching;
mod server;

pub use client::{Handshake, Progress};
pub(crate) use idle::agreed as agreed_idle_timeout;
pub use idle::{Idle, TICKS, Verdict};
pub use matching::{Match, Rejected, find};
pub use server::{Decision, Terms, decide};
