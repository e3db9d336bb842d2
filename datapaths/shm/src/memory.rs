//! The file in memory that two processes map.

use bertha_core::{Error, ErrorKind};
use rustix::fs::{
    MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, fstatfs, ftruncate, memfd_create,
};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Type of the file system that memfds lie on, except for memfds of huge pages.
const TMPFS: u32 = 0x0102_1994;

/// The seals without which the peer could take pages away under this process, which would be killed by
/// `SIGBUS`.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// Makes memory for two other processes, all zeros, whose size cannot change any more.
///
/// # Errors
/// The errors of the system.
pub fn sealed_memory(bytes: usize) -> io::Result<OwnedFd> {
    SealedMemory::create(bytes).map(|sealed| sealed.file)
}

/// A file in memory whose size cannot change any more.
#[derive(Debug)]
pub(crate) struct SealedMemory {
    file: OwnedFd,
    bytes: usize,
}

impl SealedMemory {
    /// Creates new memory, all zeros.
    pub(crate) fn create(bytes: usize) -> io::Result<Self> {
        let file = unsealed(bytes)?;
        fcntl_add_seals(&file, SEALS)?;
        Ok(Self { file, bytes })
    }

    /// Creates new memory, all zeros, that is written through the mapping of `map` alone: later mappings can only read.
    pub(crate) fn create_read_only(
        bytes: usize,
        map: impl FnOnce(BorrowedFd<'_>) -> io::Result<()>,
    ) -> io::Result<Self> {
        let file = unsealed(bytes)?;
        map(file.as_fd())?;
        fcntl_add_seals(&file, SEALS.union(SealFlags::FUTURE_WRITE))?;
        Ok(Self { file, bytes })
    }

    /// Takes memory that a trusted process created.
    pub(crate) fn trusted(file: OwnedFd) -> io::Result<Self> {
        let bytes = usize::try_from(fstat(&file)?.st_size).map_err(io::Error::other)?;
        Ok(Self { file, bytes })
    }

    /// Checks memory that the peer created.
    ///
    /// # Errors
    /// [`Refused`](ErrorKind::Refused) if its size is not `bytes` or not sealed, or if it is no ordinary
    /// memory: huge pages may be missing when they are touched.
    pub(crate) fn received(file: OwnedFd, bytes: usize) -> Result<Self, Error> {
        let reason = match inspect(&file) {
            Ok(found) if !found.seals.contains(SEALS) => "its size is not sealed".into(),
            Ok(found) if found.file_system != TMPFS => "it is no ordinary memory".into(),
            Ok(found) if u64::try_from(bytes) != Ok(found.bytes) => {
                format!("it has {} bytes instead of {bytes}", found.bytes)
            }
            Ok(_) => return Ok(Self { file, bytes }),
            Err(error) => error.to_string(),
        };
        let what = format!("the memory that the other end offers is not taken: {reason}");
        Err(Error::new(ErrorKind::Refused, what))
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Returns true if this is a file in memory. The kernel answers without asking the file's system, which may let the answer wait.
pub(crate) fn is_memory(file: &OwnedFd) -> bool {
    fcntl_get_seals(file).is_ok()
}

fn unsealed(bytes: usize) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // A system may forbid executable memory; an old system does not know the flag.
    let file = match memfd_create("bertha-shm", flags | MemfdFlags::NOEXEC_SEAL) {
        Err(Errno::INVAL) => memfd_create("bertha-shm", flags)?,
        created => created?,
    };
    ftruncate(&file, bytes as u64)?;
    Ok(file)
}

struct Found {
    seals: SealFlags,
    file_system: u32,
    bytes: u64,
}

fn inspect(file: &OwnedFd) -> io::Result<Found> {
    // The seals are checked first: with them the size can't change any more.
    let seals = fcntl_get_seals(file)?;
    let file_system = u32::try_from(fstatfs(file)?.f_type).unwrap_or_default();
    let bytes = u64::try_from(fstat(file)?.st_size).unwrap_or_default();
    Ok(Found { seals, file_system, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(file: OwnedFd, bytes: usize) -> String {
        let error = SealedMemory::received(file, bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        error.to_string()
    }

    fn memfd(bytes: u64, seals: SealFlags) -> OwnedFd {
        let file = memfd_create("test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&file, bytes).unwrap();
        fcntl_add_seals(&file, seals).unwrap();
        file
    }

    #[test]
    fn memory_is_taken_with_its_seals_and_its_size_alone() {
        assert!(SealedMemory::received(memfd(8192, SEALS), 8192).is_ok());
        let made = SealedMemory::create(8192).unwrap();
        assert!(SealedMemory::received(made.file, 8192).is_ok());
        for missing in [SealFlags::SHRINK, SealFlags::GROW, SealFlags::SEAL] {
            let file = memfd(8192, SEALS.difference(missing));
            assert!(refusal(file, 8192).contains("sealed"), "without {missing:?}");
        }
        assert!(refusal(memfd(4096, SEALS), 8192).contains("4096 bytes instead of 8192"));
        refusal(std::fs::File::open("/proc/self/exe").unwrap().into(), 8192);
        refusal(std::os::unix::net::UnixStream::pair().unwrap().0.into(), 8192);
    }

    #[test]
    fn sealed_memory_keeps_its_size() {
        let made = SealedMemory::create(8192).unwrap();
        assert_eq!(ftruncate(made.file(), 4096), Err(Errno::PERM));
        assert_eq!(ftruncate(made.file(), 16384), Err(Errno::PERM));
    }
}
