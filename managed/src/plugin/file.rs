//! The file of a library.

use super::elf;
use bertha_core::{Error, ErrorKind};
use bertha_datapath_shm::Users;
use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags, fcntl_add_seals, memfd_create, open};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Number of bytes of the largest library.
const LARGEST: u64 = 256 << 20;

/// The bits of those who may write a file besides its owner.
const OF_OTHERS: u32 = 0o022;

/// Returns a sealed copy of a library's file.
///
/// # Errors
/// [`Invalid`](ErrorKind::Invalid) if the path is not absolute, if others than root and the user of this process may write the file, and
/// if it is no shared library. The errors of the system.
pub(super) fn copy(path: &Path) -> Result<OwnedFd, Error> {
    if !path.is_absolute() {
        return Err(invalid(path, "its path has to be absolute"));
    }
    // What is no file, such as a pipe, does not make the daemon wait.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let failed =
        |error: io::Error| Error::new(Error::from(io::Error::from(error.kind())).kind(), text(path, error));
    let file = open(path, flags, Mode::empty()).map_err(|error| failed(error.into()))?;
    let mut file = File::from(file);
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(invalid(path, "it is no regular file"));
    }
    if !Users::Same.contain(metadata.uid()) {
        return Err(invalid(
            path,
            &format!("its owner is user {}, who is neither root nor that of the daemon", metadata.uid()),
        ));
    }
    if metadata.mode() & OF_OTHERS != 0 {
        return Err(invalid(path, "others than its owner may write it"));
    }
    if metadata.len() > LARGEST {
        return Err(invalid(path, "it has more than 256 MiB"));
    }
    let mut bytes = Vec::new();
    Read::take(&mut file, LARGEST).read_to_end(&mut bytes).map_err(failed)?;
    elf::check(&bytes).map_err(|what| invalid(path, what))?;
    sealed(&bytes).map_err(failed)
}

/// Returns a file without a name that has these bytes for ever.
fn sealed(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut copy =
        File::from(memfd_create("bertha-engine", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
    copy.write_all(bytes)?;
    fcntl_add_seals(&copy, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(copy.into())
}

fn text(path: &Path, what: impl std::fmt::Display) -> String {
    format!("{} is not loaded: {what}", path.display())
}

pub(super) fn invalid(path: &Path, what: &str) -> Error {
    Error::new(ErrorKind::Invalid, text(path, what))
}
