//! A few frames in a row.

use crate::Packet;
use bertha_dpdk_sys as sys;
use std::fmt;
use std::mem::MaybeUninit;

/// How many frames a burst has at most: what drivers handle best.
const LEN: usize = 32;

/// Up to 32 frames in order, taken from or given to a port in one call. Holds them without an allocation.
pub struct Burst {
    /// Those from `first` to `end` are whole packets.
    frames: [MaybeUninit<sys::Frame>; LEN],
    first: usize,
    end: usize,
}

// SAFETY: its frames are packets, which are.
unsafe impl Send for Burst {}
// SAFETY: a shared burst only tells its length.
unsafe impl Sync for Burst {}

impl Burst {
    /// None.
    #[inline]
    pub const fn new() -> Self {
        // By itself, or else the compiler fills all of a value of which it knows a part.
        let frames = [const { MaybeUninit::uninit() }; LEN];
        Self { frames, first: 0, end: 0 }
    }

    /// How many frames there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.end - self.first
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == self.end
    }

    /// Whether no more can be appended.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.end == LEN && !self.is_empty()
    }

    /// How many more can be appended.
    #[inline]
    pub(crate) fn room(&self) -> usize {
        if self.is_empty() { LEN } else { LEN - self.end }
    }

    /// Appends a frame.
    ///
    /// # Errors
    /// The frame, if the burst is full.
    #[inline]
    pub fn push(&mut self, packet: Packet) -> Result<(), Packet> {
        if self.is_empty() {
            (self.first, self.end) = (0, 0);
        }
        let Some(place) = self.frames.get_mut(self.end) else { return Err(packet) };
        place.write(packet.into_frame());
        self.end += 1;
        Ok(())
    }

    /// The frames, first one first.
    #[inline]
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Packet> {
        self.frames[self.first..self.end].iter_mut().map(|frame| {
            // SAFETY: frames between `first` and `end` were written, and are whole packets, of which a `Packet` is made.
            unsafe { &mut *frame.as_mut_ptr().cast::<Packet>() }
        })
    }

    /// The frames, first one first.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.frames[self.first..self.end].iter().map(|frame| {
            // SAFETY: frames between `first` and `end` were written, and are whole packets, of which a `Packet` is made.
            unsafe { &*frame.as_ptr().cast::<Packet>() }
        })
    }

    /// Removes the first `count` frames, of at least so many, without dropping them: somebody else has them.
    #[inline]
    pub(crate) fn forget_first(&mut self, count: usize) {
        debug_assert!(count <= self.len());
        self.first += count;
    }

    /// Removes the first frame.
    #[inline]
    pub fn pop(&mut self) -> Option<Packet> {
        if self.is_empty() {
            return None;
        }
        // SAFETY: frames between `first` and `end` were written.
        let frame = unsafe { self.frames[self.first].assume_init() };
        self.first += 1;
        // SAFETY: it is a whole packet, and outside of the burst now.
        Some(unsafe { Packet::from_frame(frame) })
    }

    /// Has `receive` write frames where there is room: it is given a pointer and how many fit, and tells how many it wrote.
    ///
    /// # Safety
    /// `receive` tells how many whole packets it wrote, from the pointer on.
    #[inline]
    pub(crate) unsafe fn fill(&mut self, receive: impl FnOnce(*mut sys::Frame, u16) -> u16) -> usize {
        if self.is_empty() {
            (self.first, self.end) = (0, 0);
        }
        let room = &mut self.frames[self.end..];
        let received = receive(room.as_mut_ptr().cast(), room.len() as u16).into();
        self.end += received;
        received
    }

    /// Has `send` take frames from the front: it is given a pointer and how many there are, and tells how many it took.
    ///
    /// # Safety
    /// `send` tells how many packets it took the ownership of, from the pointer on.
    #[inline]
    pub(crate) unsafe fn empty(&mut self, send: impl FnOnce(*const sys::Frame, u16) -> u16) -> usize {
        let there = &self.frames[self.first..self.end];
        let sent = send(there.as_ptr().cast(), there.len() as u16).into();
        self.first += sent;
        sent
    }
}

impl Default for Burst {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Burst {
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}

impl fmt::Debug for Burst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Burst").field("len", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, port};

    #[test]
    fn a_burst_that_was_emptied_has_room_for_a_whole_one() {
        if !crate::AVAILABLE {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "DPDK must be installed in CI");
            return;
        }
        let config = Config { buffers: 8191, ..Config::new("net_null23", "10.0.0.1/24") };
        let (port, _queues) = port::open(&config).unwrap();
        let packet = || Packet::from_buf(port.pool().buffer(1, 0).unwrap()).unwrap();
        for before in [1, LEN / 2, LEN] {
            let mut burst = Burst::new();
            (0..before).for_each(|_| burst.push(packet()).unwrap());
            assert_eq!(burst.room(), LEN - before);
            while burst.pop().is_some() {}
            assert_eq!(burst.room(), LEN);
            (0..LEN).for_each(|_| burst.push(packet()).unwrap());
            assert!(burst.is_full() && burst.room() == 0 && burst.push(packet()).is_err());
        }
        assert_eq!(port.pool().in_use(), 0, "buffers were kept");
    }
}
