//! The protocol of the socket by which an application attaches to the daemon, without I/O.
//!
//! ```text
//!  application                                      daemon
//!    | -- hello: role, names, heaps, schema --------> |
//!    | <------ taken, with the socket of the queue -- |   or refused, with a text
//!    | -- grow: bytes ------------------------------> |
//!    | <---------- granted, with a region; or full -- |
//!    | <------------------------ lent, with a region -|   before the first message in it
//! ```
//!
//! Descriptors go from the daemon to the application alone. Once an application is taken, [descriptors](crate::Descriptor) of calls go
//! through the queue, which is a connection of `bertha-datapath-shm` over the socket that came.

mod answer;
mod hello;

pub use answer::{Answer, Grow};
pub use hello::{Hello, Role, is_name};

use std::fmt;

/// Bytes that do not follow the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    pub(crate) what: &'static str,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }
}

impl std::error::Error for Malformed {}
