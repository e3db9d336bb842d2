//! The beginning and the end of sockets, of the process, and of its children.

use crate::process::{self, each_socket, set_own};
use crate::{births, carried, handover, join, lock, real, registration, settings, waiting, watch};
use libc::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

/// Sets the library up, before the program's own code runs.
#[used]
#[unsafe(link_section = ".init_array")]
static SET_UP: extern "C" fn() = {
    extern "C" fn set_up() {
        begin();
    }
    set_up
};

/// Leaves the other ends in order, behind the program's own code.
#[used]
#[unsafe(link_section = ".fini_array")]
static END_ALL: extern "C" fn() = {
    extern "C" fn end_all() {
        end_all_sockets();
    }
    end_all
};

/// Leaves the other ends in order, before the process ends.
pub(crate) fn end_all_sockets() {
    if !HAS_ENDED.swap(true, Ordering::Relaxed) {
        each_socket().for_each(join::end_with_process);
    }
}

/// True once the process ends.
static HAS_ENDED: AtomicBool = AtomicBool::new(false);

#[cold]
fn begin() {
    if !settings::read() {
        return;
    }
    real::look_all_up();
    if process::make_places(handover::places()) {
        // SAFETY: the handlers are functions of this library, which is never unloaded.
        unsafe { libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child)) };
    }
    carried::begin();
    handover::take();
}

/// Tracks a new connection.
pub(crate) fn track(fd: c_int) {
    forget(fd);
    if let Some(socket) = process::take_place(fd) {
        watch::forget(socket.number);
        socket.duplicated(fd);
    }
}

/// Stops tracking a descriptor that is closed now. The last one of a socket leaves its other end in order.
pub(crate) fn forget(fd: c_int) {
    carried::entry::forget(fd);
    forget_socket(fd);
}

/// Stops tracking a descriptor whose socket another takes the place of.
pub(crate) fn forget_socket(fd: c_int) {
    waiting::keep(fd);
    match process::take(fd) {
        Some((socket, true)) => join::end(socket),
        Some((socket, false)) => registration::descriptor_closed(socket.number, fd),
        None => {}
    }
}

/// True if a fork has the lock of all sets.
static FORKING: AtomicBool = AtomicBool::new(false);

/// Counts the child that comes, before the parent can close anything.
extern "C" fn before_fork() {
    births::forking();
    FORKING.store(watch::before_fork(), Ordering::Relaxed);
    for socket in each_socket() {
        socket.place.processes.fetch_add(1, Ordering::SeqCst);
    }
}

extern "C" fn in_parent() {
    if FORKING.swap(false, Ordering::Relaxed) {
        watch::after_fork();
    }
}

extern "C" fn in_child() {
    lock::forget_thread();
    in_parent();
    waiting::forget_readers();
    handover::end(true);
    for socket in each_socket() {
        let request = socket.place.request.load(Ordering::Relaxed);
        if request > 0 {
            set_own(request - 1, false);
            // SAFETY: the descriptor is this library's.
            unsafe { real::close(request - 1) };
        }
    }
}
