//! The bytes that layers ask for in front of each message.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The room in front of each message that the layers of a connection have reserved, in bytes. A [`Base`](crate::Base) has it, and makes its
/// buffers with so much.
#[derive(Debug, Default)]
pub struct Headroom(
    // Relaxed: a number by itself; layers reserve before the connection is shared.
    AtomicUsize,
);

impl Headroom {
    /// No byte is reserved.
    pub const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// The bytes that are reserved.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.0.load(Relaxed)
    }

    /// Reserves so many bytes more.
    pub fn reserve(&self, bytes: usize) {
        self.0.fetch_add(bytes, Relaxed);
    }

    /// Gives so many reserved bytes back.
    pub fn release(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Relaxed);
    }
}
