//! The file of a socket of this process.

use std::fs::symlink_metadata;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

/// The file of a socket of this process. Dropping it removes the file, unless another one has its path by now.
#[derive(Debug)]
pub(crate) struct OwnPath {
    path: PathBuf,
    /// The device and the number of the file.
    file: Option<(u64, u64)>,
}

impl OwnPath {
    /// Makes room for a socket at `path`: removes the socket of a process that is gone.
    ///
    /// # Errors
    /// [`AddrInUse`](io::ErrorKind::AddrInUse) if a socket there is in use, of whatever kind;
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists) if something else is there.
    pub(crate) fn vacate(path: &Path) -> io::Result<()> {
        let metadata = match symlink_metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        if !metadata.file_type().is_socket() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "a file is there that is no socket"));
        }
        match UnixDatagram::unbound()?.connect(path) {
            // Nobody is bound there any more.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path),
            _ => Err(io::Error::new(io::ErrorKind::AddrInUse, "the socket there is in use")),
        }
    }

    /// Takes charge of the file of a socket that was just bound at `path`.
    pub(crate) fn bound(path: &Path) -> Self {
        Self { path: path.to_owned(), file: number_of(path) }
    }
}

impl Drop for OwnPath {
    fn drop(&mut self) {
        if self.file.is_some() && number_of(&self.path) == self.file {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn number_of(path: &Path) -> Option<(u64, u64)> {
    symlink_metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn only_the_socket_of_a_process_that_is_gone_makes_room() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        OwnPath::vacate(&path).unwrap();
        let live = UnixDatagram::bind(&path).unwrap();
        assert_eq!(OwnPath::vacate(&path).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(live);
        OwnPath::vacate(&path).unwrap();
        let stream = UnixListener::bind(&path).unwrap();
        assert_eq!(OwnPath::vacate(&path).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(stream);
        OwnPath::vacate(&path).unwrap();
        let other = folder.path().join("a thesis");
        std::fs::write(&other, "text").unwrap();
        assert_eq!(OwnPath::vacate(&other).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        std::os::unix::fs::symlink(&other, &path).unwrap();
        assert_eq!(OwnPath::vacate(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "text");
    }

    #[test]
    fn a_file_that_took_the_place_of_the_own_one_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _socket = UnixDatagram::bind(&path).unwrap();
        let own = OwnPath::bound(&path);
        std::fs::rename(&path, folder.path().join("elsewhere")).unwrap();
        let _another = UnixDatagram::bind(&path).unwrap();
        drop(own);
        assert!(path.exists());
        drop(OwnPath::bound(&path));
        assert!(!path.exists());
    }
}
