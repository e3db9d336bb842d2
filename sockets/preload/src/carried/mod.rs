//! The knowledge of a process about its sockets that the daemon carries.

pub(crate) mod entry;
pub(crate) mod names;

use crate::settings;
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
            entry::enter(fd, entry::Kind::Connected, false, local, peer);
        }
    }
}
