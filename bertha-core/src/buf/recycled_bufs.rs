//! Buffers that are released together.

use super::Buf;
use super::view::View;
use super::window::Window;
use crate::debug_fields;
use std::mem::ManuallyDrop;

/// Buffers that are no longer needed, to be released together.
///
/// The messages of a burst mostly lie in one storage. Adding each message here, instead of dropping it,
/// releases the storage with one atomic operation instead of one for each message. The storage is held longer
/// for it, so a value of this type lives for one call and is dropped at its end.
#[derive(Default)]
pub struct RecycledBufs {
    /// A view of the storage in which the buffers lie. Its window is not used.
    view: Option<View>,
    /// The number of counted windows into that storage.
    count: u32,
}

impl RecycledBufs {
    /// Makes an empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a buffer. If it lies in another storage than the buffers before it, those buffers are released.
    #[inline]
    pub fn add(&mut self, buf: Buf) {
        let buf = ManuallyDrop::new(buf);
        match &self.view {
            // No overflow: the count of the storage itself bounds the number of buffers.
            Some(view) if view.is_in(&buf.view) => self.count += 1,
            // The view has an empty window, since keeping the window of the buffer would cost space for no
            // use.
            // SAFETY: `buf`, which is forgotten, was counted, and no byte lies in this window.
            _ => self.begin(unsafe { buf.view.counted(Window::NOTHING) }),
        }
    }

    // Over DPDK each message has a storage of its own, so every message takes this path.
    #[inline]
    fn begin(&mut self, view: View) {
        self.release();
        (self.view, self.count) = (Some(view), 1);
    }

    /// Releases all buffers.
    #[inline]
    pub fn release(&mut self) {
        if let Some(mut view) = self.view.take() {
            // SAFETY: each of the `count` buffers that were added was counted and forgotten, and `view` is dropped here.
            unsafe { view.release(self.count) };
        }
    }
}

impl Drop for RecycledBufs {
    fn drop(&mut self) {
        self.release();
    }
}

debug_fields!(RecycledBufs { count });
