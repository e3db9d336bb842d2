//! Addresses of listeners: paths of Unix sockets, and names in Linux's abstract namespace, which are written with `@`.

use bertha_core::{Addr, Error, ErrorKind};
use rustix::net::SocketAddrUnix;
use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The name in errors.
pub(crate) const NAME: &str = "Shm";

/// The name in the abstract namespace that `path` stands for, if it does.
fn abstract_name(path: &Path) -> Option<&[u8]> {
    path.as_os_str().as_bytes().strip_prefix(b"@")
}

/// Returns true if `path` stands for a name in the abstract namespace, which leaves no file.
pub(crate) fn is_abstract(path: &Path) -> bool {
    abstract_name(path).is_some()
}

/// The socket address that `path` stands for.
pub(crate) fn from_path(path: &Path) -> io::Result<SocketAddrUnix> {
    Ok(match abstract_name(path) {
        Some(name) => SocketAddrUnix::new_abstract_name(name)?,
        None => SocketAddrUnix::new(path)?,
    })
}

/// How the address is written.
fn to_addr(address: &SocketAddrUnix) -> Addr {
    if let Some(name) = address.abstract_name() {
        return Addr::Unix(PathBuf::from(OsStr::from_bytes(&[b"@", name].concat())));
    }
    match address.path_bytes() {
        // As the kernel gives it, a path ends in a zero byte.
        Some(path) => Addr::Unix(OsStr::from_bytes(path.strip_suffix(b"\0").unwrap_or(path)).into()),
        None => Addr::Unnamed,
    }
}

/// Where the socket is bound.
pub(crate) fn of(socket: impl AsFd) -> io::Result<Addr> {
    Ok(to_addr(&SocketAddrUnix::try_from(rustix::net::getsockname(socket)?)?))
}

/// Where the socket's peer is bound.
pub(crate) fn of_peer(socket: impl AsFd) -> io::Result<Addr> {
    let peer = rustix::net::getpeername(socket)?;
    Ok(match peer {
        Some(peer) => to_addr(&SocketAddrUnix::try_from(peer)?),
        None => Addr::Unnamed,
    })
}

/// The error of a system call about the socket at `path`.
#[cold]
pub(crate) fn failed(error: io::Error, doing: &str, path: &Path) -> Error {
    let path = path.display();
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            let what = format!("cannot {doing} {path}: another server uses it, or it is no socket");
            Error::new(ErrorKind::AddrInUse, what).because(error)
        }
        io::ErrorKind::WouldBlock => {
            let what = format!("cannot {doing} {path}: its server accepts nobody");
            Error::new(ErrorKind::Unreachable, what).because(error)
        }
        _ => {
            let error = Error::from(error);
            Error::new(error.kind(), format!("cannot {doing} {path}: {}", error.context())).because(error)
        }
    }
    .at(NAME)
}
