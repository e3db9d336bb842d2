//! The descriptor of an object, for poll and epoll.

use crate::failure::Failure;
use bertha::Error;
use parking_lot::Mutex;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{read, write};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The kinds of calls that can go on.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
pub(crate) enum Bit {
    /// There may be something to receive or to accept.
    Receive = 1,
    /// There is room again for a message.
    Send = 2,
    /// Something that was begun has come to its end.
    Done = 4,
}

/// The descriptor of an object, which is readable while one of the bits is set. It is made when it is asked
/// for; without it, nothing has a price.
#[derive(Debug, Default)]
pub(crate) struct Readiness {
    is_asked_for: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    bits: u8,
    descriptor: Option<OwnedFd>,
    /// True once the object was released.
    is_closed: bool,
}

impl Readiness {
    /// Returns the descriptor, which lives as long as the object.
    ///
    /// # Errors
    /// Errors of the system, such as no room for another descriptor; [`Failure::RELEASED`].
    pub(crate) fn descriptor(&self) -> Result<RawFd, Failure> {
        let mut state = self.state.lock();
        if state.is_closed {
            return Err(Failure::RELEASED);
        }
        if let Some(descriptor) = &state.descriptor {
            return Ok(descriptor.as_raw_fd());
        }
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let descriptor = eventfd(u32::from(state.bits != 0), flags)
            .map_err(|error| Error::from(io::Error::from(error)))?;
        let number = descriptor.as_raw_fd();
        state.descriptor = Some(descriptor);
        self.is_asked_for.store(true, Relaxed);
        Ok(number)
    }

    /// Closes the descriptor at once, so that epoll shows it no more, whatever still goes on.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        state.descriptor = None;
    }

    /// Returns true if there is a descriptor.
    pub(crate) fn is_asked_for(&self) -> bool {
        self.is_asked_for.load(Relaxed)
    }

    pub(crate) fn set(&self, bit: Bit) {
        let mut state = self.state.lock();
        let was_ready = state.bits != 0;
        state.bits |= bit as u8;
        if let (false, Some(descriptor)) = (was_ready, &state.descriptor) {
            // The counter is far from its bound.
            let _ = write(descriptor, &1_u64.to_ne_bytes());
        }
    }

    pub(crate) fn clear(&self, bit: Bit) {
        let mut state = self.state.lock();
        let was_ready = state.bits != 0;
        state.bits &= !(bit as u8);
        if let (true, 0, Some(descriptor)) = (was_ready, state.bits, &state.descriptor) {
            let _ = read(descriptor, &mut [0_u8; 8]);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    fn is_readable(readiness: &Readiness) -> bool {
        let state = readiness.state.lock();
        let mut polled = [PollFd::new(state.descriptor.as_ref().unwrap(), PollFlags::IN)];
        poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap() == 1
    }

    #[test]
    fn the_descriptor_is_readable_while_a_bit_is_set() {
        let readiness = Readiness::default();
        readiness.set(Bit::Send);
        readiness.descriptor().unwrap();
        assert!(is_readable(&readiness), "set before there was a descriptor");
        readiness.set(Bit::Receive);
        readiness.clear(Bit::Send);
        assert!(is_readable(&readiness), "one of two bits is left");
        readiness.clear(Bit::Receive);
        assert!(!is_readable(&readiness));
        readiness.set(Bit::Done);
        assert!(is_readable(&readiness));
        assert_eq!(readiness.descriptor().unwrap(), readiness.descriptor().unwrap());
        readiness.close();
        readiness.set(Bit::Send);
        assert!(readiness.descriptor().is_err());
    }
}
