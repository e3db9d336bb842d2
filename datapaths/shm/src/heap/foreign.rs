//! The send heap of a hostile application, as the daemon reads it.
#![allow(unsafe_code)]

use super::Region;
use super::layout::{Base, LARGEST};
use super::span::Span;
use bertha_core::buf::SharedBytes;
use rustix::mm::ProtFlags;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fmt, io, slice};

/// A heap that another process writes to at any time. Its bytes are copied, and no reference to them exists.
#[derive(Debug)]
pub struct Foreign {
    /// The address of the heap in the application.
    base: Base,
    quota: usize,
    span: Span,
}

/// An address outside of a heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outside {
    /// The address.
    pub at: u64,
}

impl Foreign {
    /// Creates the daemon's end of a heap that begins at this address of the application, and grows to at most `quota` bytes.
    ///
    /// # Errors
    /// Fails if no heap can begin there, or with the errors of the system.
    pub fn new(base: u64, quota: usize) -> io::Result<Self> {
        let base = Base::new(base).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self { base, quota: quota.min(LARGEST), span: Span::reserve()? })
    }

    /// Returns the number of bytes of the regions.
    pub fn granted(&self) -> usize {
        self.span.mapped()
    }

    /// Adds the region that the application maps next.
    ///
    /// # Errors
    /// Fails if the quota has no room for it, or if the heap has 256 regions; or with the errors of the system.
    pub fn add(&mut self, region: &Region) -> io::Result<()> {
        if region.bytes() > self.quota - self.granted() {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        self.span.map(region.file(), region.bytes(), ProtFlags::READ)
    }

    /// Copies the bytes from an address of the application on. Each byte is read once. Reading no bytes never fails.
    ///
    /// # Errors
    /// Fails if some of the bytes lie outside of the regions; then `into` stays as it is.
    #[inline]
    pub fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Outside> {
        if into.is_empty() {
            return Ok(());
        }
        let offset = self.base.offset(at, into.len(), self.span.mapped()).ok_or(Outside { at })?;
        copy(&self.words()[offset / 8..], offset % 8, into);
        Ok(())
    }

    /// Returns the bytes from an address of the application on as they lie there, for a system call that reads them. They stay mapped also when
    /// this heap is dropped.
    ///
    /// # Errors
    /// Fails if some of the bytes lie outside of the regions.
    pub fn share(&self, at: u64, len: usize) -> Result<SharedBytes, Outside> {
        let offset = self.base.offset(at, len, self.span.mapped()).ok_or(Outside { at })?;
        let start = self.span.start().wrapping_add(offset);
        // SAFETY: `mapped` bytes are mapped for reading from the start on, until the addresses are dropped: the regions of a foreign heap are
        // never given up. Each byte is backed by a page of a file, since the seals keep the files from shrinking.
        Ok(unsafe { SharedBytes::new(start, len, self.span.addresses()) })
    }

    #[inline]
    fn words(&self) -> &[AtomicU64] {
        // SAFETY: `mapped` bytes are mapped from the start, which begins a page and so is aligned, until the span is dropped. Each of them
        // is backed by a page of a file, since the seals keep the files from shrinking. Any bits are a value of the type, and other
        // processes may write to it at any time, as it is atomic. Only relaxed loads reach it, which memory for reading alone allows.
        unsafe { slice::from_raw_parts(self.span.start().cast(), self.span.mapped() / 8) }
    }
}

/// Copies bytes out of words, from one of the first word's bytes on. Each word is read once.
#[inline]
fn copy(words: &[AtomicU64], skipped: usize, into: &mut [u8]) {
    let begun = if skipped > 0 { (8 - skipped).min(into.len()) } else { 0 };
    let (begin, rest) = into.split_at_mut(begun);
    copy_part(words, skipped, begin);
    let words = &words[usize::from(begun > 0)..];
    let (whole, end) = rest.as_chunks_mut::<8>();
    for (bytes, word) in whole.iter_mut().zip(words) {
        *bytes = word.load(Ordering::Relaxed).to_ne_bytes();
    }
    copy_part(&words[whole.len()..], 0, end);
}

/// Copies bytes out of the first word, if any are wanted.
#[inline]
fn copy_part(words: &[AtomicU64], skipped: usize, into: &mut [u8]) {
    if let (false, Some(word)) = (into.is_empty(), words.first()) {
        let bytes = word.load(Ordering::Relaxed).to_ne_bytes();
        into.copy_from_slice(&bytes[skipped..][..into.len()]);
    }
}

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the address {:#x} lies outside of the heap", self.at)
    }
}

impl std::error::Error for Outside {}
