//! Calls that begin other programs, or hand a socket to code that this library does not see.

use super::stream;
use crate::inheritance::{self, New};
use crate::process::Socket;
use crate::{actions, births, evict, handover, life, process, real};
use bertha_sockets_machine::Why;
use libc::{c_char, c_int, c_void, pid_t, posix_spawn_file_actions_t, posix_spawnattr_t};
use std::ptr::null_mut;

/// Calls a new program; this one goes on only if there is none.
pub(super) fn with_new_program<T>(call: impl FnOnce() -> T) -> T {
    inheritance::before(New::Exec);
    process::before_exec();
    let failed = call();
    process::exec_failed();
    handover::end(false);
    failed
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn execve(
    path: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> c_int {
    // SAFETY: the arguments are the program's.
    with_new_program(|| unsafe { real::execve(path, arguments, environment) })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn execv(path: *const c_char, arguments: *const *const c_char) -> c_int {
    // SAFETY: the arguments are the program's.
    with_new_program(|| unsafe { real::execv(path, arguments) })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn execvp(path: *const c_char, arguments: *const *const c_char) -> c_int {
    // SAFETY: the arguments are the program's.
    with_new_program(|| unsafe { real::execvp(path, arguments) })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn execvpe(
    path: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> c_int {
    // SAFETY: the arguments are the program's.
    with_new_program(|| unsafe { real::execvpe(path, arguments, environment) })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn fexecve(
    fd: c_int,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> c_int {
    // SAFETY: the arguments are the program's.
    with_new_program(|| unsafe { real::fexecve(fd, arguments, environment) })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn execveat(
    folder: c_int,
    path: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
    flags: c_int,
) -> c_int {
    // SAFETY: the arguments are the program's.
    with_new_program(|| unsafe { real::execveat(folder, path, arguments, environment, flags) })
}

/// A child that shares memory with its parent would close descriptors in the parent's table. A fork does what POSIX asks for, too.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn vfork() -> pid_t {
    // SAFETY: the call takes no arguments.
    unsafe { real::fork() }
}

/// Children of `fork` end so, and leave their parent alone with its sockets.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _exit(status: c_int) {
    life::end_all_sockets();
    // SAFETY: the argument is the program's.
    unsafe { real::_exit(status) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _Exit(status: c_int) {
    // SAFETY: the argument is the program's.
    unsafe { _exit(status) }
}

/// Calls a new program beside this one, or fails with `refused` if it would miss bytes of a socket.
fn with_child<T>(new: New, refused: T, call: impl FnOnce() -> T, is_there: impl FnOnce(&T) -> bool) -> T {
    // The child gets sockets that are not connected yet, too.
    births::forking();
    let is_whole = inheritance::before(new);
    let done = if is_whole { call() } else { refused };
    handover::end(is_there(&done));
    done
}

fn spawned(actions: *const posix_spawn_file_actions_t) -> New {
    if actions.is_null() { New::Child } else { New::Chosen(actions) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn posix_spawn_file_actions_init(actions: *mut posix_spawn_file_actions_t) -> c_int {
    actions::forget(actions);
    // SAFETY: the argument is the program's.
    unsafe { real::posix_spawn_file_actions_init(actions) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn posix_spawn_file_actions_destroy(
    actions: *mut posix_spawn_file_actions_t,
) -> c_int {
    actions::forget(actions);
    // SAFETY: the argument is the program's.
    unsafe { real::posix_spawn_file_actions_destroy(actions) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn posix_spawn_file_actions_adddup2(
    actions: *mut posix_spawn_file_actions_t,
    fd: c_int,
    to: c_int,
) -> c_int {
    // What is at the other number is not inherited as it is.
    for fd in [fd, to] {
        actions::copies(actions, fd);
    }
    // SAFETY: the arguments are the program's.
    unsafe { real::posix_spawn_file_actions_adddup2(actions, fd, to) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn posix_spawn(
    pid: *mut pid_t,
    path: *const c_char,
    actions: *const posix_spawn_file_actions_t,
    attributes: *const posix_spawnattr_t,
    arguments: *const *mut c_char,
    environment: *const *mut c_char,
) -> c_int {
    // SAFETY: the arguments are the program's.
    let call = || unsafe { real::posix_spawn(pid, path, actions, attributes, arguments, environment) };
    with_child(spawned(actions), libc::EAGAIN, call, |error| *error == 0)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn posix_spawnp(
    pid: *mut pid_t,
    path: *const c_char,
    actions: *const posix_spawn_file_actions_t,
    attributes: *const posix_spawnattr_t,
    arguments: *const *mut c_char,
    environment: *const *mut c_char,
) -> c_int {
    // SAFETY: the arguments are the program's.
    let call = || unsafe { real::posix_spawnp(pid, path, actions, attributes, arguments, environment) };
    with_child(spawned(actions), libc::EAGAIN, call, |error| *error == 0)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn system(command: *const c_char) -> c_int {
    // SAFETY: the argument is the program's.
    with_child(New::Child, -1, || unsafe { real::system(command) }, |status| *status >= 0)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn popen(command: *const c_char, mode: *const c_char) -> *mut c_void {
    // SAFETY: the arguments are the program's.
    with_child(New::Child, null_mut(), || unsafe { real::popen(command, mode) }, |stream| !stream.is_null())
}

/// Streams of stdio read and write past this library, as far as nothing lies in a ring.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn fdopen(fd: c_int, mode: *const c_char) -> *mut c_void {
    births::shared(fd);
    if Socket::of(fd).is_some_and(|socket| !evict::leave_soon(socket, Why::Stream)) {
        return stream::open(fd, mode);
    }
    // SAFETY: the arguments are the program's.
    unsafe { real::fdopen(fd, mode) }
}
