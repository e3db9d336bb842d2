//! The file of a Unix socket.

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, socket_with};
use std::fs::{Metadata, metadata, remove_file, symlink_metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The file of a Unix socket, which is removed on drop.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    /// By this the drop tells the file from that of another server.
    identity: Option<Identity>,
}

impl SocketFile {
    /// Binds a socket to a path. The file of a server that has died is replaced.
    ///
    /// # Errors
    /// [`AddrInUse`](io::ErrorKind::AddrInUse) if a server uses the path, or if a file lies there that is no socket; those of the system.
    pub fn bind(socket: impl AsFd, path: &Path) -> io::Result<Self> {
        let address = SocketAddrUnix::new(path)?;
        match bind(&socket, &address) {
            Err(Errno::ADDRINUSE) if is_left_over(path, &address) => {
                remove_file(path)?;
                bind(&socket, &address)?;
            }
            Err(Errno::ADDRINUSE) if !metadata(path).is_ok_and(|found| found.file_type().is_socket()) => {
                return Err(io::Error::new(io::ErrorKind::AddrInUse, "what lies there is no socket"));
            }
            bound => bound?,
        }
        let identity = symlink_metadata(path).ok().map(|found| identity(&found));
        Ok(Self { path: path.into(), identity })
    }
}

/// The device and the number of a file; and when it was made, since numbers are used again.
type Identity = (u64, u64, Option<SystemTime>);

fn identity(found: &Metadata) -> Identity {
    (found.dev(), found.ino(), found.created().ok())
}

/// Returns true if the file is that of a socket which no process has any more.
fn is_left_over(path: &Path, address: &SocketAddrUnix) -> bool {
    let Ok(before) = symlink_metadata(path) else { return false };
    let is_refused = || {
        // A socket of datagrams makes no connection that a server of streams would have to accept: that is an error of another kind.
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let probe = socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None);
        probe.is_ok_and(|probe| connect(probe, address) == Err(Errno::CONNREFUSED))
    };
    // The file that was asked about, and not that of a server which has come meanwhile.
    before.file_type().is_socket()
        && is_refused()
        && symlink_metadata(path).is_ok_and(|now| identity(&now) == identity(&before))
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_own = symlink_metadata(&self.path).is_ok_and(|found| self.identity == Some(identity(&found)));
        if is_own && let Err(error) = remove_file(&self.path) {
            tracing::debug!(%error, path = %self.path.display(), "socket file not removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::{UnixDatagram, UnixListener};

    fn socket(kind: SocketType) -> OwnedFd {
        rustix::net::socket(AddressFamily::UNIX, kind, None).unwrap()
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("bertha-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    const KINDS: [SocketType; 3] = [SocketType::STREAM, SocketType::DGRAM, SocketType::SEQPACKET];

    #[test]
    fn the_path_of_a_dead_server_is_replaced_and_that_of_a_live_one_is_not() {
        let folder = folder("left-over");
        let path = folder.join("socket");
        for (live, new) in KINDS.into_iter().flat_map(|live| KINDS.map(|new| (live, new))) {
            let server = socket(live);
            bind(&server, &SocketAddrUnix::new(&path).unwrap()).unwrap();
            let error = SocketFile::bind(socket(new), &path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AddrInUse, "{live:?} lives, {new:?} comes");
            // As a process that is killed leaves it.
            drop(server);
            let next = socket(new);
            drop(SocketFile::bind(&next, &path).unwrap());
            assert!(!path.exists(), "the file is left");
        }
        std::fs::write(&path, "data").unwrap();
        let error = SocketFile::bind(socket(SocketType::STREAM), &path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        assert_eq!(error.to_string(), "what lies there is no socket");
        assert_eq!(std::fs::read(&path).unwrap(), b"data", "what is no socket stays");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn only_the_own_file_is_removed() {
        let folder = folder("own-file");
        let path = folder.join("socket");
        let first = socket(SocketType::DGRAM);
        let file = SocketFile::bind(&first, &path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let _others = UnixListener::bind(&path).unwrap();
        drop(file);
        assert!(path.exists(), "another server's file is gone");
        assert!(UnixDatagram::unbound().unwrap().connect(&path).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
