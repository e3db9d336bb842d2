//! The memory of requests that no handler has taken.

use crate::rpc::parts::WINDOW;
use crate::rpc::{Failure, FailureKind, WaitingBytes};

/// A stream has this part of the room: streams of the longest requests, each of which goes on with room for one, so find
/// it beside many full ones.
const SHARE: usize = 8;

/// The bytes of the requests of a connection that wait for their handlers, in all its streams, as part of those of all
/// connections.
#[derive(Debug)]
pub(super) struct Waiting {
    here: WaitingBytes,
    together: WaitingBytes,
    /// The longest message of the connection.
    longest: usize,
}

impl Waiting {
    pub(super) fn new(limit: usize, together: WaitingBytes, longest: usize) -> Self {
        Self { here: WaitingBytes::new(limit), together, longest }
    }

    /// Returns how many requests a stream may have on their way at first.
    pub(super) fn first_window(&self) -> u32 {
        self.window(self.longest)
    }

    /// Returns how many requests of this length a stream may have on their way: as many as [part](SHARE) of the room takes,
    /// since other streams need some as well. One is always allowed, so that each stream goes on.
    pub(super) fn window(&self, length: usize) -> u32 {
        let room = self.here.room().min(self.together.room());
        (room / SHARE / length.max(1)).clamp(1, WINDOW as usize) as u32
    }

    /// Adds a request.
    ///
    /// # Errors
    /// `Overloaded` without room for it.
    pub(super) fn add(&self, bytes: usize) -> Result<(), Failure> {
        if !self.here.add(bytes) {
            return Err(too_many_bytes("this client", self.here.limit(), "waiting_bytes"));
        }
        if !self.together.add(bytes) {
            self.here.remove(bytes);
            return Err(too_many_bytes("all clients", self.together.limit(), "waiting_with"));
        }
        Ok(())
    }

    /// Removes requests that were taken or dropped.
    pub(super) fn remove(&self, bytes: usize) {
        self.here.remove(bytes);
        self.together.remove(bytes);
    }
}

#[cold]
fn too_many_bytes(clients: &str, limit: usize, setting: &str) -> Failure {
    let what = format!(
        "requests of {clients} wait for their handlers with more than {limit} bytes together; the server sets the limit \
         by `Serve::{setting}`"
    );
    Failure::of(FailureKind::Overloaded, what)
}
