//! Listening at the path of a Unix socket, where a store that is gone may have left its own.

use bertha::kernel::{UnixStream, UnixStreamListener};
use bertha::{Addr, Chunk, Datapath, Error, ErrorKind};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use std::fs::File;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Listens at `addr`, which is `path`. A socket there at which nobody listens any more is removed.
///
/// # Errors
/// The errors of the datapath.
pub(super) async fn listen(addr: &Addr, path: &Path) -> Result<UnixStreamListener<Chunk>, Error> {
    let refused = match UnixStream::new().bytes().listen(addr.clone()).await {
        Err(error) if error.kind() == ErrorKind::AddrInUse => error,
        listening => return listening,
    };
    // Of two stores that start at once, the second one must not remove the new socket of the first one. The lock ends with the file.
    let Some(_folder) = locked_folder(path) else { return Err(refused) };
    if !is_left_behind(path) {
        return Err(refused);
    }
    tracing::info!(path = %path.display(), "removed a socket at which nobody listens");
    std::fs::remove_file(path)?;
    UnixStream::new().bytes().listen(addr.clone()).await
}

/// The folder of `path`, which no other process has locked.
fn locked_folder(path: &Path) -> Option<File> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = File::open(folder.unwrap_or(Path::new("."))).ok()?;
    flock(&folder, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(folder)
}

/// Returns true if `path` is a socket at which nobody listens.
fn is_left_behind(path: &Path) -> bool {
    // Of a symbolic link, the link: it is not ours.
    let is_socket = path.symlink_metadata().is_ok_and(|file| file.file_type().is_socket());
    if !is_socket {
        return false;
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    let (Ok(socket), Ok(addr)) = (socket, SocketAddrUnix::new(path)) else { return false };
    matches!(connect(&socket, &addr), Err(Errno::CONNREFUSED))
}
