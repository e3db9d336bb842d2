//! The call by which a process makes an io_uring.

use crate::{evict, process, real, uring};
use libc::c_long;

/// Has all sockets go back to the kernel before the process makes an io_uring.
#[cold]
fn before_setup() {
    uring::is_made();
    process::sockets().for_each(evict::leave);
    for socket in process::sockets() {
        evict::leave_at_once(socket);
    }
}

/// Serves all processors of 64 bits: arguments behind `...` come as those that are named.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    if number == libc::SYS_io_uring_setup {
        before_setup();
    }
    // SAFETY: the arguments are the program's.
    unsafe { real::syscall(number, a, b, c, d, e, f) }
}
