//! Addresses of Unix sockets: paths, and names in Linux's abstract namespace, which are written with `@`.

use bertha_core::Addr;
use bertha_runtime::tokio::SocketFile;
use rustix::net::SocketAddrUnix;
use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The name in the abstract namespace that `path` stands for, if it does.
fn abstract_name(path: &Path) -> Option<&[u8]> {
    path.as_os_str().as_bytes().strip_prefix(b"@")
}

/// The socket address that `path` stands for.
pub(super) fn from_path(path: &Path) -> io::Result<SocketAddrUnix> {
    Ok(match abstract_name(path) {
        Some(name) => SocketAddrUnix::new_abstract_name(name)?,
        None => SocketAddrUnix::new(path)?,
    })
}

/// Binds a socket to the address that `path` stands for. The file of a server that has died is replaced.
pub(super) fn bind(socket: impl AsFd, path: &Path) -> io::Result<Option<SocketFile>> {
    if abstract_name(path).is_some() {
        rustix::net::bind(socket, &from_path(path)?)?;
        return Ok(None);
    }
    SocketFile::bind(socket, path).map(Some)
}

/// How the address is written.
pub(super) fn to_addr(address: &SocketAddrUnix) -> Addr {
    if let Some(name) = address.abstract_name() {
        return Addr::Unix(PathBuf::from(OsStr::from_bytes(&[b"@", name].concat())));
    }
    match address.path_bytes() {
        // As the kernel gives it, a path ends in a zero byte.
        Some(path) => Addr::Unix(OsStr::from_bytes(path.strip_suffix(b"\0").unwrap_or(path)).into()),
        None => Addr::Unnamed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_they_are_read() {
        for text in ["/run/store.sock", "relative", "@abstract"] {
            assert_eq!(to_addr(&from_path(Path::new(text)).unwrap()), Addr::Unix(text.into()));
        }
        assert_eq!(to_addr(&SocketAddrUnix::new_unnamed()), Addr::Unnamed);
        assert!(from_path(Path::new(&"x".repeat(200))).is_err());
    }
}
