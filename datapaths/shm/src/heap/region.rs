//! The pieces of memory that a daemon grants.

use super::layout::{LARGEST, PAGE};
use crate::memory::SealedMemory;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

/// A file in memory that a daemon creates for a heap, and passes on to the application. Its size never changes.
#[derive(Debug)]
pub struct Region {
    memory: SealedMemory,
}

impl Region {
    /// Creates a region of a send heap, which the application maps for writing.
    ///
    /// # Errors
    /// Fails if the size is not a multiple of 64 KiB, or larger than heaps are; or with the errors of the system.
    pub fn writable(bytes: usize) -> io::Result<Self> {
        check(bytes)?;
        Ok(Self { memory: SealedMemory::create(bytes)? })
    }

    /// Creates a region of a receive heap. Only the mapping that `map` makes can write to it.
    pub(super) fn read_only(
        bytes: usize,
        map: impl FnOnce(BorrowedFd<'_>) -> io::Result<()>,
    ) -> io::Result<Self> {
        check(bytes)?;
        Ok(Self { memory: SealedMemory::create_read_only(bytes, map)? })
    }

    /// Takes a region that a daemon granted to this application.
    pub(super) fn granted(file: OwnedFd) -> io::Result<Self> {
        let memory = SealedMemory::trusted(file)?;
        check(memory.bytes())?;
        Ok(Self { memory })
    }

    /// Returns the file, to be passed on to the application.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.memory.file()
    }

    /// Returns the number of bytes.
    pub fn bytes(&self) -> usize {
        self.memory.bytes()
    }
}

fn check(bytes: usize) -> io::Result<()> {
    let fits = (PAGE..=LARGEST).contains(&bytes) && bytes.is_multiple_of(PAGE);
    fits.then_some(())
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, format!("no region has {bytes} bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_consist_of_whole_pages() {
        for wrong in [0, 1, 4096, PAGE + 1, LARGEST + PAGE] {
            assert_eq!(Region::writable(wrong).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{wrong}");
        }
        let region = Region::writable(3 * PAGE).unwrap();
        let granted = Region::granted(region.file().try_clone_to_owned().unwrap()).unwrap();
        assert_eq!((region.bytes(), granted.bytes()), (3 * PAGE, 3 * PAGE));
        assert!(Region::granted(std::os::unix::net::UnixStream::pair().unwrap().0.into()).is_err());
    }
}
