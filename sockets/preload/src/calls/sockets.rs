//! Calls that make connections, and their options.

use crate::place::State;
use crate::process::Socket;
use crate::{births, device, errno, evict, life, real, transmit};
use bertha_sockets_machine::Why;
use bertha_sockets_machine::control::Field;
use libc::{c_int, c_void, sockaddr, socklen_t};
use std::slice;
use std::sync::atomic::Ordering;

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    // SAFETY: the arguments are the program's.
    let fd = unsafe { real::socket(domain, kind, protocol) };
    life::forget(fd);
    births::made(fd);
    fd
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn bind(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int {
    if let Some(done) = device::bind(fd, address, len) {
        return done;
    }
    // SAFETY: the arguments are the program's.
    unsafe { real::bind(fd, address, len) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn accept4(
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
    flags: c_int,
) -> c_int {
    if let Some(done) = device::accept(fd, address, len, flags) {
        return done;
    }
    // SAFETY: the arguments are the program's.
    accepted(unsafe { real::accept4(fd, address, len, flags) })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn accept(fd: c_int, address: *mut sockaddr, len: *mut socklen_t) -> c_int {
    if let Some(done) = device::accept(fd, address, len, 0) {
        return done;
    }
    // SAFETY: the arguments are the program's.
    accepted(unsafe { real::accept(fd, address, len) })
}

fn accepted(fd: c_int) -> c_int {
    if fd >= 0 {
        life::track(fd);
    }
    fd
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn connect(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int {
    if let Some(socket) = Socket::of(fd) {
        // A connection that has memory is ended, or nothing happens.
        if socket.place.state() == State::Paired {
            evict::leave_at_once(socket, Why::Connected);
        }
        // SAFETY: the arguments are the program's.
        return unsafe { real::connect(fd, address, len) };
    }
    if let Some(done) = device::connect(fd, address, len) {
        return done;
    }
    // SAFETY: the arguments are the program's.
    let done = unsafe { real::connect(fd, address, len) };
    if done == 0 || errno::last() == libc::EINPROGRESS {
        // SAFETY: the kernel has read an address of this length.
        let family = if len >= 2 { i32::from(unsafe { (*address).sa_family }) } else { 0 };
        if matches!(family, libc::AF_INET | libc::AF_INET6) && births::is_alone(fd) {
            let kept = errno::last();
            life::track(fd);
            errno::set(kept);
        }
    }
    done
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn shutdown(fd: c_int, how: c_int) -> c_int {
    if let Some(socket) = Socket::of(fd) {
        shut(socket, how);
    }
    if let Some(done) = device::shut(fd, how) {
        return done;
    }
    device::shutting(fd, how);
    // SAFETY: the arguments are the program's.
    unsafe { real::shutdown(fd, how) }
}

fn shut(socket: Socket, how: c_int) {
    let place = socket.place;
    if matches!(how, libc::SHUT_WR | libc::SHUT_RDWR) {
        // Later writes go to the kernel, which refuses them. So does it bytes that the other end asks for.
        transmit::shut(socket);
    }
    if matches!(how, libc::SHUT_RD | libc::SHUT_RDWR) {
        place.is_read_shut.store(true, Ordering::Relaxed);
    }
    let is_over = place.is_shut.load(Ordering::Relaxed) && place.is_read_shut.load(Ordering::Relaxed);
    if is_over
        && place.state() == State::Paired
        && let Some(receiving) = socket.receiving()
        && let Some(side) = receiving.side()
    {
        // The other end writes to the kernel from now on, which answers by a reset.
        side.control.set(Field::Gone, 1);
    }
}

/// An option of which this library keeps the program's value while the socket has memory.
fn kept(socket: Socket, level: c_int, name: c_int) -> Option<&'static std::sync::atomic::AtomicBool> {
    if socket.place.state() != State::Paired || level != libc::IPPROTO_TCP {
        return None;
    }
    match name {
        libc::TCP_NODELAY => Some(&socket.place.nodelay),
        libc::TCP_CORK => Some(&socket.place.corked),
        _ => None,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn setsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    len: socklen_t,
) -> c_int {
    if let Some(socket) = Socket::of(fd) {
        if let Some(kept) = kept(socket, level, name)
            && len as usize >= size_of::<c_int>()
            && !value.is_null()
        {
            // SAFETY: the program gives a number.
            kept.store(unsafe { value.cast::<c_int>().read_unaligned() } != 0, Ordering::Relaxed);
            return 0;
        }
        let is_unfit = matches!((level, name), (libc::SOL_SOCKET, libc::SO_ZEROCOPY | libc::SO_RCVLOWAT))
            || matches!(
                (level, name),
                (libc::IPPROTO_TCP, libc::TCP_ULP | libc::TCP_REPAIR | libc::TCP_MD5SIG)
            );
        if is_unfit {
            evict::leave_at_once(socket, Why::Option);
        }
    }
    if let Some(done) = device::set_option(fd, level, name, value, len) {
        return done;
    }
    // SAFETY: the arguments are the program's.
    unsafe { real::setsockopt(fd, level, name, value, len) }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn getsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    if let Some(done) = device::read_option(fd, level, name, value, len) {
        return done;
    }
    // SAFETY: the arguments are the program's.
    let done = unsafe { real::getsockopt(fd, level, name, value, len) };
    if done == 0
        && (level, name) == (libc::SOL_SOCKET, libc::SO_ERROR)
        && let Some(socket) = Socket::of(fd)
    {
        // SAFETY: the kernel has written the length.
        let len = unsafe { *len }.min(4) as usize;
        // SAFETY: the kernel has written so many bytes there.
        tell_error(socket, unsafe { slice::from_raw_parts_mut(value.cast(), len) });
    }
    if done == 0
        && let Some(kept) = Socket::of(fd).and_then(|socket| kept(socket, level, name))
        // SAFETY: the kernel has written the length.
        && unsafe { *len } as usize == size_of::<c_int>()
    {
        let kept = c_int::from(kept.load(Ordering::Relaxed));
        // SAFETY: the kernel has written a number there.
        unsafe { value.cast::<c_int>().write_unaligned(kept) };
    }
    done
}

/// Puts an error that was kept for the program into the place of no error.
#[cold]
fn tell_error(socket: Socket, value: &mut [u8]) {
    if value.iter().all(|byte| *byte == 0) {
        let kept = socket.place.error.swap(0, Ordering::Relaxed).to_ne_bytes();
        value.copy_from_slice(&kept[..value.len()]);
    }
}
