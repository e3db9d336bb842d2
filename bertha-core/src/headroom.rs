//! The bytes that layers ask for in front of each message.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The room in front of each message that the layers of a connection have reserved, in bytes. A
/// [`Base`](crate::Base) has a headroom, and makes its buffers with this room.
#[derive(Debug, Default)]
pub struct Headroom(
    // Relaxed: the number orders no other memory, and layers reserve before the connection is shared.
    AtomicUsize,
);

impl Headroom {
    /// Makes a headroom of no bytes.
    pub const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// Returns the number of reserved bytes.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.0.load(Relaxed)
    }

    /// Reserves `bytes` more bytes.
    pub fn reserve(&self, bytes: usize) {
        self.0.fetch_add(bytes, Relaxed);
    }

    /// Gives `bytes` reserved bytes back.
    pub fn release(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Relaxed);
    }
}
