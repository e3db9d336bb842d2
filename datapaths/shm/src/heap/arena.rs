//! Blocks of memory that grows by regions.

use super::slab::{Growth, Slab};
use super::span::Span;
use std::io;

/// A span, and the bookkeeping of its bytes.
#[derive(Debug)]
pub(super) struct Arena {
    span: Span,
    slab: Slab,
}

impl Arena {
    /// Reserves addresses for a heap that may grow to so many bytes.
    pub(super) fn new(quota: usize) -> io::Result<Self> {
        Ok(Self { span: Span::reserve()?, slab: Slab::new(quota) })
    }

    pub(super) fn span(&self) -> &Span {
        &self.span
    }

    pub(super) fn granted(&self) -> usize {
        self.slab.granted()
    }

    /// Takes a block, and returns its offset. Where the regions have no room, `add` has to map a region of the size that it is told.
    #[inline]
    pub(super) fn allocate(
        &mut self,
        bytes: usize,
        growth: Growth,
        add: impl FnOnce(&mut Span, usize) -> io::Result<()>,
    ) -> io::Result<usize> {
        match self.slab.allocate(bytes) {
            Some(offset) => Ok(offset),
            None => self.grow(bytes, growth, add),
        }
    }

    /// Makes a block free that was allocated with this number of bytes.
    #[inline]
    pub(super) fn free(&mut self, offset: usize, bytes: usize) {
        self.slab.free(offset, bytes);
    }

    #[cold]
    fn grow(
        &mut self,
        bytes: usize,
        growth: Growth,
        add: impl FnOnce(&mut Span, usize) -> io::Result<()>,
    ) -> io::Result<usize> {
        let wanted = self.slab.wanted(bytes, growth).ok_or(io::ErrorKind::QuotaExceeded)?;
        if let Err(error) = add(&mut self.span, wanted) {
            // A region may be mapped, and yet not be what it should.
            self.span.truncate(self.slab.granted());
            return Err(error);
        }
        self.slab.grow(wanted).ok_or(io::ErrorKind::QuotaExceeded)?;
        debug_assert_eq!(self.slab.granted(), self.span.mapped(), "what is mapped is granted");
        self.slab.allocate(bytes).ok_or(io::ErrorKind::QuotaExceeded.into())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Region;
    use super::*;
    use rustix::mm::ProtFlags;

    fn map(span: &mut Span, bytes: usize) -> io::Result<()> {
        span.map(Region::writable(bytes)?.file(), bytes, ProtFlags::READ)
    }

    #[test]
    fn a_region_that_fails_after_it_was_mapped_is_not_used() {
        let mut arena = Arena::new(1 << 20).unwrap();
        let failed = arena.allocate(8, Growth::Doubled, |span, bytes| {
            map(span, bytes)?;
            Err(io::ErrorKind::Other.into())
        });
        let kind = failed.unwrap_err().kind();
        assert_eq!((kind, arena.granted(), arena.span().mapped()), (io::ErrorKind::Other, 0, 0));
        assert_eq!(arena.allocate(8, Growth::Doubled, map).unwrap(), 0);
        assert_eq!((arena.granted(), arena.span().mapped()), (1 << 20, 1 << 20));
    }
}
