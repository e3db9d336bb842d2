//! Messages that were read.

use super::Buf;
use super::view::View;
use super::window::Window;
use std::fmt;
use std::mem::ManuallyDrop;

/// Buffers that are no longer needed, to be released together.
///
/// The messages of a burst mostly lie in one storage. Adding each of them here, instead of dropping it, releases that storage once
/// instead of once a message with an atomic operation each. The storage is held that much longer, so this is for the time
/// of one call, and to be dropped at its end.
#[derive(Default)]
pub struct Spent {
    /// A view of the storage in which they lie. Its window is not used.
    view: Option<View>,
    /// The number of counted windows into that storage.
    count: u32,
}

impl Spent {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds another. If it lies elsewhere than those before, these are released.
    #[inline]
    pub fn add(&mut self, buf: Buf) {
        let buf = ManuallyDrop::new(buf);
        match &self.view {
            // No overflow: there are at most as many as the storage's own count.
            Some(view) if view.is_in(&buf.view) => self.count += 1,
            // Its own window would have to be kept for this alone.
            // SAFETY: `buf`, which is forgotten, was counted, and no byte lies in this window.
            _ => self.begin(unsafe { buf.view.counted(Window::NOTHING) }),
        }
    }

    // Where each message has a storage of its own, as over DPDK, all come here.
    #[inline]
    fn begin(&mut self, view: View) {
        self.release();
        (self.view, self.count) = (Some(view), 1);
    }

    /// Releases all of them.
    #[inline]
    pub fn release(&mut self) {
        if let Some(mut view) = self.view.take() {
            // SAFETY: each of the `count` buffers that were added was counted and forgotten, and `view` is dropped here.
            unsafe { view.release(self.count) };
        }
    }
}

impl Drop for Spent {
    fn drop(&mut self) {
        self.release();
    }
}

impl fmt::Debug for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spent").field("count", &self.count).finish_non_exhaustive()
    }
}
