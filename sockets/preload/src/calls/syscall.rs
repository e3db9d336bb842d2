//! Calls by their numbers, of which a few concern sockets: that by which a process makes an io_uring, and those that begin a new program.

use super::programs::with_new_program;
use crate::{errno, real, relay, uring};
use bertha_sockets_machine::Why;
use libc::c_long;

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
    // SAFETY: the arguments are the program's.
    let call = || unsafe { real::syscall(number, a, b, c, d, e, f) };
    match number {
        libc::SYS_execve | libc::SYS_execveat => with_new_program(call),
        libc::SYS_io_uring_setup => {
            uring::is_made();
            // As a kernel whose administrator wants none.
            if relay::bring_all_back(Why::Uring) { call() } else { errno::fail(libc::EPERM) as c_long }
        }
        _ => call(),
    }
}
