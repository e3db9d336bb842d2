//! Messages as the interpreter of schemas sees them.

use crate::messages::rows::outgoing::Outgoing;
use bertha_core::{Buf, Error, ErrorKind};
use bertha_managed::heap::{Foreign, Message};
use bertha_schemas::{Frame, Memory, NoRoom, Outside, PrivateMemory, Room};

/// The memory in which a party sends messages.
#[derive(Debug)]
pub(crate) enum Sent<'a> {
    /// The send heap of an application.
    Heap(&'a Foreign),
    /// A message of another daemon.
    Frame(Frame<'a>),
}

/// A message that is written for its receiver.
#[derive(Debug)]
pub(crate) enum Lending<'a, 'heap> {
    /// A message in the receive heap of an application.
    Heap(&'a mut Message<'heap>),
    /// A message for another daemon.
    Frame(&'a mut Outgoing),
}

/// A room for a copy of what lies in the heap of an application, if it does.
#[derive(Debug)]
pub(crate) struct Leaving<'room, 'a, 'heap> {
    pub(crate) room: &'room mut Lending<'a, 'heap>,
    /// The heap in which rows may be left.
    pub(crate) heap: Option<&'room Foreign>,
}

/// Makes a buffer of a frame, with the frame's headroom and without a copy.
pub(crate) fn into_buf(frame: PrivateMemory) -> Result<Buf, Error> {
    let mut bytes = Buf::from_owner(frame).map_err(|frame| {
        Error::new(ErrorKind::TooLarge, format!("no buffer holds a message of {} bytes", frame.used()))
    })?;
    bytes.advance(PrivateMemory::HEADROOM)?;
    Ok(bytes)
}

impl Sent<'_> {
    /// Returns the heap in which the messages lie, if they do.
    pub(crate) fn heap(&self) -> Option<&Foreign> {
        match self {
            Self::Heap(heap) => Some(heap),
            Self::Frame(_) => None,
        }
    }
}

impl Memory for Sent<'_> {
    #[inline]
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Outside> {
        match self {
            Self::Heap(heap) => heap.read(at, into).map_err(|outside| Outside { at: outside.at }),
            Self::Frame(frame) => frame.read(at, into),
        }
    }
}

impl Room for Lending<'_, '_> {
    #[inline]
    fn reserve(&mut self, bytes: usize) -> Result<u64, NoRoom> {
        match self {
            Self::Heap(message) => message.reserve(bytes).ok_or(NoRoom),
            Self::Frame(message) => message.frame.reserve(bytes),
        }
    }

    #[inline]
    fn bytes(&mut self, at: u64, len: usize) -> &mut [u8] {
        match self {
            Self::Heap(message) => message.bytes(at, len),
            Self::Frame(message) => message.frame.bytes(at, len),
        }
    }

    #[inline]
    fn put(&mut self, bytes: &[u8]) -> Result<u64, NoRoom> {
        match self {
            Self::Heap(message) => message.put(bytes).ok_or(NoRoom),
            Self::Frame(message) => message.frame.put(bytes),
        }
    }
}

impl Room for Leaving<'_, '_, '_> {
    #[inline]
    fn reserve(&mut self, bytes: usize) -> Result<u64, NoRoom> {
        self.room.reserve(bytes)
    }

    #[inline]
    fn bytes(&mut self, at: u64, len: usize) -> &mut [u8] {
        self.room.bytes(at, len)
    }

    #[inline]
    fn leave(&mut self, reference: u64, from: u64, bytes: usize) -> bool {
        match (&mut *self.room, self.heap) {
            (Lending::Frame(message), Some(heap)) => message.leave(heap, reference, from, bytes),
            _ => false,
        }
    }

    #[inline]
    fn put(&mut self, bytes: &[u8]) -> Result<u64, NoRoom> {
        self.room.put(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_frame_stay_where_they_are() {
        let mut frame = PrivateMemory::of(1 << 20);
        frame.put(b"messages").unwrap();
        let bytes = frame.as_bytes().as_ptr();
        let buf = into_buf(frame).unwrap();
        assert_eq!((&*buf, buf.as_ptr()), (&b"messages"[..], bytes));
        assert_eq!(buf.headroom(), PrivateMemory::HEADROOM);
    }
}
