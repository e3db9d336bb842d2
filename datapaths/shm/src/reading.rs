//! Sockets that the reactor watches for what can be read alone.
#![allow(unsafe_code)]

use bertha_runtime::tokio::descriptors::{Aside, close_aside};
use std::io;
use std::os::fd::OwnedFd;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Registers a socket with the current tokio runtime. The types of [`tokio::net`] would also hear of room to write.
pub(crate) fn for_reading(socket: OwnedFd) -> io::Result<Aside<AsyncFd<OwnedFd>>> {
    // SAFETY: `OwnedFd` owns an open descriptor, and returns the same number until it is dropped. It is dropped with the `AsyncFd`, or
    // taken out by `into_inner`: `Aside` lends the `AsyncFd` out by shared references alone, so no caller puts another descriptor there.
    match unsafe { AsyncFd::register_with_interest(socket, Interest::READABLE) } {
        Ok(registered) => Ok(Aside::new(registered)),
        Err(failed) => {
            let (socket, error) = failed.into_parts();
            close_aside(socket);
            Err(error)
        }
    }
}
