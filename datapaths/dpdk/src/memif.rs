//! Preparation of shared-memory ports (`net_memif`): buffers that hold whole frames, and, for a server, a
//! free place for its socket. A server that is killed leaves its socket behind; DPDK's driver does not listen
//! at such a file, and does not report why.

use crate::failure::failure;
use bertha_core::{Error, ErrorKind};
use std::borrow::Cow;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Default size of a buffer of `net_memif`.
const BUFFER: u16 = 2048;

/// Adds the setting of `frame` bytes for each buffer, the size of Bertha's buffers, to `device` if it is a
/// `net_memif` whose default buffers are shorter, and `device` does not set their size itself.
///
/// With shorter buffers, the driver would spread a frame over several of them, each of which takes an mbuf of
/// its own on arrival. Moreover, the driver of DPDK 22.11 does not clear the mark of a continued frame when
/// it later writes a short frame into such a buffer: the receiver then reads on into memory that was not
/// written. Buffers have an equal length at both ends, since the driver then copies whole bursts.
pub(crate) fn with_buffers(device: &str, frame: u16) -> Cow<'_, str> {
    let is_told = device.split(',').any(|word| word.starts_with("bsize="));
    if frame <= BUFFER || is_told || !device.starts_with("net_memif") {
        return device.into();
    }
    format!("{device},bsize={frame}").into()
}

/// Removes the socket of `device`, if it is a server of `net_memif` and no process listens there. Returns an
/// error for a file that stays. Such a file need not be wrong: several ports of a process may share a socket.
pub(crate) fn free_socket(device: &str) -> Option<Error> {
    socket(device).and_then(|path| remove_if_dead(Path::new(path)).err())
}

/// Returns the file of the socket at which a device listens.
fn socket(device: &str) -> Option<&str> {
    let mut words = device.split(',');
    words.next().filter(|name| name.starts_with("net_memif"))?;
    let mut path = None;
    let mut listens = false;
    let mut is_file = false;
    for word in words {
        match word.split_once('=')? {
            ("role", role) => listens = matches!(role, "server" | "master"),
            ("socket", file) => path = Some(file),
            ("socket-abstract", value) => is_file = value == "no",
            _ => {}
        }
    }
    path.filter(|_| listens && is_file)
}

/// Removes a socket at which no process listens. Returns an error if a file stays.
fn remove_if_dead(path: &Path) -> Result<(), Error> {
    let refused = |kind, why: &str| {
        Err(failure(kind, format!("the device's socket {} is there already: {why}", path.display())))
    };
    match path.symlink_metadata() {
        Ok(file) if file.file_type().is_socket() => {}
        Ok(_) => return refused(ErrorKind::Invalid, "and is no socket; name another one"),
        // DPDK reports all other errors.
        Err(_) => return Ok(()),
    }
    // Memif's sockets are of another type: if a server listens, the connection attempt fails because of the
    // type, and the server does not notice it.
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return refused(
                ErrorKind::Unavailable,
                "it belongs to somebody else; remove it, or name another one",
            );
        }
        _ => return refused(ErrorKind::Invalid, "another server listens there; give each one of its own"),
    }
    match std::fs::remove_file(path) {
        Ok(()) => tracing::info!(path = %path.display(), "removed the socket of a server that has ended"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => {
            let why = format!("a server that has ended left it, and it can't be removed: {error}");
            return refused(ErrorKind::Unavailable, &why);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_hold_whole_frames() {
        let with = with_buffers;
        assert_eq!(with("net_memif0,role=client", 2048), "net_memif0,role=client");
        assert_eq!(with("net_memif0,role=client", 9088), "net_memif0,role=client,bsize=9088");
        assert_eq!(with("net_memif0,bsize=4096", 9088), "net_memif0,bsize=4096");
        assert_eq!(with("net_tap0", 9088), "net_tap0");
    }

    use std::os::unix::net::UnixListener;

    #[test]
    fn only_servers_with_a_file_have_a_socket_to_look_for() {
        let with = |arguments: &str| socket(arguments).map(str::to_owned);
        assert_eq!(
            with("net_memif0,role=server,id=0,socket=/run/a.sock,socket-abstract=no").as_deref(),
            Some("/run/a.sock")
        );
        assert_eq!(with("net_memif0,role=client,socket=/run/a.sock,socket-abstract=no"), None);
        assert_eq!(with("net_memif0,role=server,socket=/run/a.sock"), None);
        assert_eq!(with("net_memif0"), None);
        assert_eq!(with("net_vhost0,role=server,socket=/run/a.sock,socket-abstract=no"), None);
    }

    #[test]
    fn the_socket_of_a_dead_server_is_removed_and_that_of_a_live_one_is_not() {
        let path = std::env::temp_dir().join(format!("bertha-make-way-{}", std::process::id()));
        let device = format!("net_memif0,role=server,socket={},socket-abstract=no", path.display());
        assert!(free_socket(&device).is_none());

        let listener = UnixListener::bind(&path).unwrap();
        let error = free_socket(&device).unwrap();
        assert!(error.context().contains("another server listens there"), "{error}");
        assert!(path.exists());

        drop(listener);
        assert!(free_socket(&device).is_none());
        assert!(!path.exists());

        std::fs::write(&path, "something else").unwrap();
        let error = free_socket(&device).unwrap();
        assert!(error.context().contains("is no socket"), "{error}");
        std::fs::remove_file(&path).unwrap();
    }
}
