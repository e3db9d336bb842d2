//! The memory of responses that no caller has taken.

use crate::rpc::{Failure, FailureKind, WaitingBytes};

/// The length from which a single response counts. All shorter ones of a connection together take little, and each would
/// cost its call two steps in memory that all connections share.
pub(super) const COUNTED: usize = 4 << 10;

/// The bytes of responses that wait for their callers, of one stream or of all calls with one response, as part of a bound.
/// Dropping it removes them.
#[derive(Debug)]
pub(super) struct WaitingResponses {
    bytes: usize,
    together: WaitingBytes,
}

impl WaitingResponses {
    pub(super) fn new(together: &WaitingBytes) -> Self {
        Self { bytes: 0, together: together.clone() }
    }

    /// Returns the part of a further stream in the same bound.
    pub(super) fn of_stream(&self) -> Self {
        Self::new(&self.together)
    }

    /// Adds a response of a stream. If no other of the stream waits it is always taken, so that streams that are read go on,
    /// whatever others hold.
    ///
    /// # Errors
    /// `Overloaded` without room for it.
    pub(super) fn add(&mut self, bytes: usize) -> Result<(), Failure> {
        if self.bytes == 0 {
            self.together.add_anyway(bytes);
        } else if !self.together.add(bytes) {
            return Err(too_many_bytes(self.together.limit()));
        }
        self.bytes += bytes;
        Ok(())
    }

    /// Removes a response of a stream that was taken.
    pub(super) fn remove(&mut self, bytes: usize) {
        self.bytes -= bytes;
        self.together.remove(bytes);
    }

    /// Adds a single response, which is always taken: its call has no other.
    pub(super) fn add_single(&mut self, bytes: usize) {
        if bytes >= COUNTED {
            self.together.add_anyway(bytes);
            self.bytes += bytes;
        }
    }

    /// Removes a single response that was taken or dropped.
    pub(super) fn remove_single(&mut self, bytes: usize) {
        if bytes >= COUNTED {
            self.remove(bytes);
        }
    }

    /// Makes the bytes a part of another bound.
    pub(super) fn move_to(&mut self, together: &WaitingBytes) {
        let bytes = self.bytes;
        together.add_anyway(bytes);
        *self = Self { bytes, together: together.clone() };
    }
}

impl Drop for WaitingResponses {
    fn drop(&mut self) {
        self.together.remove(self.bytes);
    }
}

#[cold]
fn too_many_bytes(limit: usize) -> Failure {
    let what = format!(
        "responses of this client, and of those with its bound, wait for their callers with more than \
         {limit} bytes together; `Multiplexer::waiting_with` sets the limit"
    );
    Failure::of(FailureKind::Overloaded, what).after_running()
}
