//! Files without a path, whose kinds the kernel names in `/proc`.

use crate::number_path::NumberPath;
use crate::real;
use libc::c_int;

/// Returns true if the kernel names the file of a descriptor so.
pub(crate) fn is_named(fd: c_int, name: &[u8]) -> bool {
    let path = NumberPath::new("/proc/self/fd/", fd.cast_unsigned(), "");
    let mut found = [0_u8; 32];
    let room = found.as_mut_ptr().addr();
    // SAFETY: the path ends by a zero, and the room has this length.
    let read = unsafe {
        let here = libc::AT_FDCWD as usize;
        real::syscall(libc::SYS_readlinkat, here, path.address(), room, found.len(), 0, 0)
    };
    usize::try_from(read).is_ok_and(|read| &found[..read] == name)
}
