//! The memory of an application's send heap.
#![allow(unsafe_code)]

use super::control::Control;
use bertha_datapath_shm::heap::{Region, Source};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};

/// The daemon as the send heap sees it, once the application is attached. Clones are the same.
///
/// The heap of a daemon that has gone grows by memory of this process alone: nobody reads it, so the calls whose requests lie there fail,
/// and the code that makes a request neither panics nor has to know. The quota bounds it as before.
#[derive(Debug, Clone, Default)]
pub(super) struct Grants(Arc<OnceLock<Arc<Control>>>);

impl Grants {
    /// Has regions come from a daemon.
    pub(super) fn come_from(&self, control: &Arc<Control>) {
        let _first = self.0.set(Arc::clone(control));
    }
}

// SAFETY: the daemon creates a file for each region, and only reads it. The application trusts the daemon. A region of this process is a
// file of its own, which nothing else has.
unsafe impl Source for Grants {
    fn region(&self, bytes: usize) -> io::Result<OwnedFd> {
        match self.0.get().ok_or(io::ErrorKind::NotConnected)?.grow(bytes) {
            // Every other failure has ended the connection.
            Err(error) if error.kind() != io::ErrorKind::QuotaExceeded => {
                Region::writable(bytes)?.file().try_clone_to_owned()
            }
            granted => granted,
        }
    }
}
