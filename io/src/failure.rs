//! Bertha's errors as I/O errors.

use bertha_core::{Error, ErrorKind};
use std::io;

/// Converts an error to an I/O error of the nearest kind; the original is its source.
pub(crate) fn io_error(error: Error) -> io::Error {
    let kind = match error.kind() {
        ErrorKind::Closed => io::ErrorKind::BrokenPipe,
        ErrorKind::Reset => io::ErrorKind::ConnectionReset,
        ErrorKind::TimedOut => io::ErrorKind::TimedOut,
        ErrorKind::Unreachable => io::ErrorKind::HostUnreachable,
        ErrorKind::Refused => io::ErrorKind::ConnectionRefused,
        ErrorKind::Unauthenticated => io::ErrorKind::PermissionDenied,
        ErrorKind::Malformed => io::ErrorKind::InvalidData,
        ErrorKind::Exhausted => io::ErrorKind::OutOfMemory,
        ErrorKind::AddrInUse => io::ErrorKind::AddrInUse,
        ErrorKind::Unavailable => io::ErrorKind::Unsupported,
        ErrorKind::Invalid => io::ErrorKind::InvalidInput,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}
