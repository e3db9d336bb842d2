//! Streams of stdio over sockets whose bytes are not all with the kernel. stdio's own calls are within libc and bypass this library, so
//! these streams call it by functions of their own.

use super::{data, descriptors};
use crate::errno;
use libc::{c_char, c_int, c_void, size_t, ssize_t};
use std::ptr::null_mut;

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

/// The place of the descriptor in a stream of glibc.
const DESCRIPTOR: usize = 112;

/// Opens a stream, as `fdopen` does.
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
    let cookie = null_mut::<c_void>().wrapping_byte_add(fd as usize);
    // SAFETY: the mode is the program's, and the functions live as long as the library.
    let stream = unsafe { fopencookie(cookie, mode, Functions { read, write, seek: None, close }) };
    if cfg!(target_env = "gnu") && !stream.is_null() {
        // SAFETY: a stream of glibc has its descriptor there, which cannot change, as programs are compiled with it.
        unsafe { stream.wrapping_byte_add(DESCRIPTOR).cast::<c_int>().write(fd) };
    }
    stream
}

fn descriptor(cookie: *mut c_void) -> c_int {
    cookie.addr() as c_int
}
