//! The messages that a party has sent, until they are passed on.

use crate::messages::interpreter_view::Sent;
use crate::messages::memory::numbered_frames::Numbered;
use bertha_core::Buf;
use bertha_managed::heap::Foreign;
use bertha_schemas::Frame;
use parking_lot::{Mutex, RwLock};

/// The messages that a party has sent.
#[derive(Debug)]
pub(crate) enum Sends {
    /// An application has them in its send heap, which is locked for changes while it grows alone.
    Heap(RwLock<Foreign>),
    /// Messages of another daemon have come as frames.
    Frames(Mutex<Numbered<Buf>>),
}

impl Sends {
    /// Shows the memory of a message. A frame that is not there is empty.
    pub(crate) fn read<T>(&self, message: u32, work: impl FnOnce(&Sent<'_>) -> T) -> T {
        match self {
            Self::Heap(heap) => work(&Sent::Heap(&heap.read())),
            Self::Frames(frames) => {
                let frames = frames.lock();
                work(&Sent::Frame(Frame::of(frames.get(message).map_or(&[], |frame| frame))))
            }
        }
    }

    /// Returns true if the frames take more than their part of the room that all parties have in common.
    pub(crate) fn are_too_many(&self) -> bool {
        match self {
            // A heap has a quota of its own.
            Self::Heap(_) => false,
            Self::Frames(frames) => !frames.lock().has_room(0),
        }
    }
}
