//! The receive heap of an application, as the application reads it.
//!
//! **Why references into it are sound.** A `&T` into the heap needs bytes that are a `T`, and that do not change while it lives.
//!
//! * *No process but the daemon writes to the heap.* The daemon maps each region for writing, then seals the file against every later
//!   mapping for writing, `mprotect` and `write(2)`, and then passes it on. This process maps it for reading, so a write by this process is
//!   the signal `SIGSEGV` and not a change.
//! * *The daemon does not write to a message that is lent.* The application trusts the daemon, which writes a message before it tells of
//!   it, and not again before its identifier comes back. The ring by which it tells orders these writes before the reads.
//! * *The bytes are a `T`.* Both sides compute the layout from the same schema, and the daemon checks what a `T` relies on: text is UTF-8,
//!   a flag is zero or one, and each address in a message is that of a value in the same message.
//! * *The memory does not go away.* The size of a region is sealed, and the regions stay mapped while [`Received`] lives.
//!
//! So a reference is sound from the news of a message until its identifier is given back. This is what a caller of
//! [`get`](Received::get) has to see to, by lending references that live no longer than a guard which gives the identifier back.
#![allow(unsafe_code)]

use super::Region;
use super::layout::{Base, LARGEST};
use super::span::{Span, pointer};
use parking_lot::Mutex;
use rustix::mm::ProtFlags;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A heap in which a trusted daemon lends messages to this application.
#[derive(Debug)]
pub struct Received {
    base: Base,
    quota: usize,
    /// Number of bytes in the regions. It only grows.
    mapped: AtomicUsize,
    /// A lock, since a region may arrive while threads read messages.
    span: Mutex<Span>,
}

impl Received {
    /// Reserves addresses for a heap of at most `quota` bytes.
    ///
    /// # Errors
    /// The errors of the system: there are no 8 GiB of free addresses.
    pub fn new(quota: usize) -> io::Result<Self> {
        let span = Span::reserve()?;
        let (base, mapped) = (span.base(), AtomicUsize::new(0));
        Ok(Self { base, quota: quota.min(LARGEST), mapped, span: Mutex::new(span) })
    }

    /// Returns the address at which the heap begins, a multiple of 4 GiB. The daemon has to know it.
    pub fn base(&self) -> u64 {
        self.base.get()
    }

    /// Returns the number of bytes of the regions.
    pub fn granted(&self) -> usize {
        self.mapped.load(Ordering::Acquire)
    }

    /// Adds the region that the daemon has added.
    ///
    /// # Errors
    /// Fails if the quota has no room for it, or with the errors of the system.
    pub fn add(&self, file: OwnedFd) -> io::Result<()> {
        let (region, mut span) = (Region::granted(file)?, self.span.lock());
        if region.bytes() > self.quota - span.mapped() {
            return Err(io::Error::other("the daemon lends more memory than was agreed"));
        }
        span.map(region.file(), region.bytes(), ProtFlags::READ)?;
        // Release: a thread that sees the size sees the mapping.
        self.mapped.store(span.mapped(), Ordering::Release);
        Ok(())
    }

    /// Returns a value in a message, or `None` if its address is not aligned, or if some of its bytes lie outside of the heap.
    ///
    /// # Safety
    /// The daemon has written a `T` at the address, without interior mutability, in a message that it lent and that is not given back while
    /// the reference is in use.
    #[inline]
    pub unsafe fn get<T>(&self, at: u64) -> Option<&T> {
        self.base.offset(at, size_of::<T>(), self.granted())?;
        let value = pointer::<T>(at);
        // SAFETY: the bytes are mapped and aligned, and the module's head tells why they are a value that does not change, given the
        // caller's promise.
        value.is_aligned().then(|| unsafe { &*value })
    }
}
