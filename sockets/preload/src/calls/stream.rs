//! Streams of stdio over sockets whose bytes are not all with the kernel. stdio's own calls are within libc and bypass this library, so
//! these streams call it by functions of their own.

use super::{data, descriptors};
use crate::{errno, real};
use libc::{c_char, c_int, c_void, size_t, ssize_t};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};

/// What libc calls for a stream, with the cookie that it was made with.
#[repr(C)]
struct Functions {
    read: extern "C-unwind" fn(*mut c_void, *mut c_char, size_t) -> ssize_t,
    write: extern "C-unwind" fn(*mut c_void, *const c_char, size_t) -> ssize_t,
    /// None: a socket has no place to seek.
    seek: Option<extern "C-unwind" fn(*mut c_void, *mut i64, c_int) -> c_int>,
    close: extern "C-unwind" fn(*mut c_void) -> c_int,
}

unsafe extern "C" {
    fn fopencookie(cookie: *mut c_void, mode: *const c_char, functions: Functions) -> *mut c_void;
}

/// The place of the descriptor in a stream of glibc for processors of 64 bits.
const DESCRIPTOR: usize = 112;

/// Opens a stream, as `fdopen` does. Fails with `EAGAIN` where the libc has the descriptor of a stream at an unknown place: a program that asks a
/// stream without one for it would go on with -1.
#[cold]
pub(super) fn open(fd: c_int, mode: *const c_char) -> *mut c_void {
    extern "C-unwind" fn read(cookie: *mut c_void, bytes: *mut c_char, len: size_t) -> ssize_t {
        // SAFETY: libc gives a buffer of this length.
        unsafe { data::recv(descriptor(cookie), bytes.cast(), len, 0) }
    }
    extern "C-unwind" fn write(cookie: *mut c_void, bytes: *const c_char, len: size_t) -> ssize_t {
        // SAFETY: as above. Zero tells of an error here.
        unsafe { data::send(descriptor(cookie), bytes.cast(), len, 0) }.max(0)
    }
    extern "C-unwind" fn close(cookie: *mut c_void) -> c_int {
        // SAFETY: the descriptor is the stream's.
        unsafe { descriptors::close(descriptor(cookie)) }
    }
    if mode.is_null() {
        errno::set(libc::EINVAL);
        return null_mut();
    }
    if !place_is_known() {
        errno::set(libc::EAGAIN);
        return null_mut();
    }
    let cookie = null_mut::<c_void>().wrapping_byte_add(fd as usize);
    // SAFETY: the mode is the program's, and the functions live as long as the library.
    let stream = unsafe { fopencookie(cookie, mode, Functions { read, write, seek: None, close }) };
    if !stream.is_null() {
        // SAFETY: streams of this libc were seen to have their descriptor there, and this one begins as they do.
        unsafe { stream.wrapping_byte_add(DESCRIPTOR).cast::<c_int>().write(fd) };
    }
    stream
}

/// Returns true if streams of this libc have their descriptor at the place that is written to. It is looked for in two streams with numbers of
/// their own, once found for ever.
fn place_is_known() -> bool {
    static IS_KNOWN: AtomicBool = AtomicBool::new(false);
    // Relaxed: two threads that look find the same.
    if !IS_KNOWN.load(Ordering::Relaxed) {
        // SAFETY: this makes a descriptor of its own.
        let first = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        // SAFETY: the command takes a number. A copy has another one.
        let second = unsafe { real::fcntl(first, libc::F_DUPFD_CLOEXEC, first.max(0) as usize + 1) };
        let both = [first, second].map(has_at_place);
        IS_KNOWN.store(both == [true; 2], Ordering::Relaxed);
    }
    IS_KNOWN.load(Ordering::Relaxed)
}

/// Returns true if a stream of this descriptor, which is closed, has its number at the place.
fn has_at_place(fd: c_int) -> bool {
    if !cfg!(all(target_env = "gnu", target_pointer_width = "64")) || fd < 0 {
        return false;
    }
    // SAFETY: the mode ends by a zero, and the descriptor is of this function.
    let stream = unsafe { real::fdopen(fd, c"r".as_ptr()) };
    if stream.is_null() {
        // SAFETY: as above.
        unsafe { real::close(fd) };
        return false;
    }
    // SAFETY: a stream of glibc takes more than 200 bytes, which programs are compiled with, and which it fills when it is made.
    let found = unsafe { stream.wrapping_byte_add(DESCRIPTOR).cast::<c_int>().read() };
    // SAFETY: the stream is used no more. It closes the descriptor.
    unsafe { libc::fclose(stream.cast()) };
    found == fd
}

fn descriptor(cookie: *mut c_void) -> c_int {
    cookie.addr() as c_int
}
