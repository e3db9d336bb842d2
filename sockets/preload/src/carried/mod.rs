//! The knowledge of a process about its sockets that the daemon carries.

pub(crate) mod entry;
pub(crate) mod names;

use crate::{kernel, settings};
use libc::c_int;

/// The descriptors that are looked at when a program begins.
const INHERITED: c_int = 64;

/// Begins to have programs' sockets carried, if there is a stack.
pub(crate) fn begin() {
    if settings::stack().is_none() {
        return;
    }
    entry::turn_on();
    for fd in 0..INHERITED {
        if let Some([local, peer]) = names::of_carrier(fd) {
            let is_stream = kernel::option(fd, libc::SOL_SOCKET, libc::SO_TYPE) == Some(libc::SOCK_STREAM);
            let kind = if is_stream { entry::Kind::Connected } else { entry::Kind::Datagrams };
            entry::enter(fd, kind, false, local, peer);
        }
    }
}
