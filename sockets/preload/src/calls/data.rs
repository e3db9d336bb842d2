//! Calls that read and write.

use crate::place::State;
use crate::process::Socket;
use crate::receive::receive;
use crate::transmit::transmit;
use crate::{device, errno, evict, join, real};
use libc::{
    c_int, c_uint, c_void, iovec, mmsghdr, msghdr, off_t, size_t, sockaddr, socklen_t, ssize_t, timespec,
};
use std::slice;
use std::sync::atomic::Ordering;

/// The most parts of a call.
const PARTS: usize = 1024;

/// Calls that a ring has no answer to.
const UNFIT: c_int = libc::MSG_OOB | libc::MSG_ERRQUEUE;

/// Has libc do it, or, for a socket with memory, `own`.
#[inline]
fn through(fd: c_int, mut libc: impl FnMut() -> isize, own: impl FnOnce(Socket) -> Option<isize>) -> isize {
    let Some(socket) = Socket::of(fd) else { return device::call(fd, libc) };
    let place = socket.place;
    loop {
        match place.state() {
            State::Kernel => return libc(),
            State::Paired => return own(socket).unwrap_or_else(libc),
            State::Joining => join::go_on(socket),
            State::Counting => {}
        }
        // Memory comes only while no call is under way: this one is counted, or sees the memory.
        place.calls.fetch_add(1, Ordering::SeqCst);
        if socket.is_current() && matches!(place.state(), State::Counting | State::Joining) {
            let done = libc();
            place.calls.fetch_sub(1, Ordering::SeqCst);
            join::count(socket, done);
            return done;
        }
        place.calls.fetch_sub(1, Ordering::SeqCst);
        if !socket.is_current() {
            return libc();
        }
    }
}

fn incoming(socket: Socket, parts: &[iovec], flags: c_int) -> Option<isize> {
    if flags & (UNFIT | libc::MSG_TRUNC) != 0 {
        if flags & libc::MSG_ERRQUEUE == 0 {
            evict::leave_at_once(socket);
        }
        return None;
    }
    receive(socket, parts, flags)
}

fn outgoing(socket: Socket, parts: &[iovec], flags: c_int) -> Option<isize> {
    if flags & UNFIT != 0 || parts.iter().all(|part| part.iov_len == 0) {
        if flags & libc::MSG_OOB != 0 {
            evict::leave_at_once(socket);
        }
        return None;
    }
    transmit(socket, parts, flags)
}

fn one(bytes: *const c_void, len: size_t) -> [iovec; 1] {
    [iovec { iov_base: bytes.cast_mut(), iov_len: len }]
}

/// Returns the parts, if their number is one that the kernel takes.
///
/// # Safety
/// `parts` has so many parts.
unsafe fn all<'a>(parts: *const iovec, count: usize) -> Option<&'a [iovec]> {
    // SAFETY: the caller says so.
    (count <= PARTS && !parts.is_null()).then(|| unsafe { slice::from_raw_parts(parts, count) })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn read(fd: c_int, bytes: *mut c_void, len: size_t) -> ssize_t {
    // SAFETY: the arguments are the program's.
    let libc = || unsafe { real::read(fd, bytes, len) };
    through(fd, libc, |socket| incoming(socket, &one(bytes, len), 0))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __read_chk(fd: c_int, bytes: *mut c_void, len: size_t, room: size_t) -> ssize_t {
    check(len, room);
    // SAFETY: the arguments are the program's.
    unsafe { read(fd, bytes, len) }
}

/// Ends a program that writes beyond its memory, as libc does.
fn check(len: size_t, room: size_t) {
    if len > room {
        // SAFETY: always safe.
        unsafe { libc::abort() };
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn readv(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: the arguments are the program's.
    let libc = || unsafe { real::readv(fd, parts, count) };
    through(fd, libc, |socket| {
        // SAFETY: as above.
        let parts = unsafe { all(parts, usize::try_from(count).ok()?) }?;
        incoming(socket, parts, 0)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn recv(fd: c_int, bytes: *mut c_void, len: size_t, flags: c_int) -> ssize_t {
    // SAFETY: the arguments are the program's.
    let libc = || unsafe { real::recv(fd, bytes, len, flags) };
    through(fd, libc, |socket| incoming(socket, &one(bytes, len), flags))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __recv_chk(
    fd: c_int,
    bytes: *mut c_void,
    len: size_t,
    room: size_t,
    flags: c_int,
) -> ssize_t {
    check(len, room);
    // SAFETY: the arguments are the program's.
    unsafe { recv(fd, bytes, len, flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn recvfrom(
    fd: c_int,
    bytes: *mut c_void,
    len: size_t,
    flags: c_int,
    address: *mut sockaddr,
    address_len: *mut socklen_t,
) -> ssize_t {
    // SAFETY: the arguments are the program's.
    let libc = || unsafe { real::recvfrom(fd, bytes, len, flags, address, address_len) };
    through(fd, libc, |socket| {
        let received = incoming(socket, &one(bytes, len), flags)?;
        if received >= 0 && !address.is_null() && !address_len.is_null() {
            // TCP tells no address here.
            // SAFETY: the program gives a length with an address.
            unsafe { address_len.write(0) };
        }
        Some(received)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __recvfrom_chk(
    fd: c_int,
    bytes: *mut c_void,
    len: size_t,
    room: size_t,
    flags: c_int,
    address: *mut sockaddr,
    address_len: *mut socklen_t,
) -> ssize_t {
    check(len, room);
    // SAFETY: the arguments are the program's.
    unsafe { recvfrom(fd, bytes, len, flags, address, address_len) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the arguments are the program's.
    let libc = || unsafe { real::recvmsg(fd, message, flags) };
    through(fd, libc, |socket| {
        // SAFETY: the message is the program's.
        let header = unsafe { message.as_mut() }?;
        // SAFETY: as above.
        let parts = unsafe { all(header.msg_iov, header.msg_iovlen) }?;
        let received = incoming(socket, parts, flags)?;
        if received >= 0 {
            (header.msg_namelen, header.msg_controllen, header.msg_flags) = (0, 0, 0);
        }
        Some(received)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn recvmmsg(
    fd: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
    timeout: *mut timespec,
) -> c_int {
    // TCP has no messages, so nobody needs this to be quick.
    if let Some(socket) = Socket::of(fd) {
        evict::leave_at_once(socket);
    }
    // SAFETY: the arguments are the program's.
    unsafe { real::recvmmsg(fd, messages, count, flags, timeout) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn write(fd: c_int, bytes: *const c_void, len: size_t) -> ssize_t {
    // SAFETY: the arguments are the program's.
    let libc = || unsafe { real::write(fd, bytes, len) };
    through(fd, libc, |socket| outgoing(socket, &one(bytes, len), 0))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn writev(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: the arguments are the program's.
    let libc = || unsafe { real::writev(fd, parts, count) };
    through(fd, libc, |socket| {
        // SAFETY: as above.
        let parts = unsafe { all(parts, usize::try_from(count).ok()?) }?;
        outgoing(socket, parts, 0)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn send(fd: c_int, bytes: *const c_void, len: size_t, flags: c_int) -> ssize_t {
    // SAFETY: the arguments are the program's.
    let libc = || unsafe { real::send(fd, bytes, len, flags) };
    through(fd, libc, |socket| outgoing(socket, &one(bytes, len), flags))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendto(
    fd: c_int,
    bytes: *const c_void,
    len: size_t,
    flags: c_int,
    address: *const sockaddr,
    address_len: socklen_t,
) -> ssize_t {
    if device::is_fast_open(flags) {
        return errno::fail(libc::EOPNOTSUPP);
    }
    // SAFETY: the arguments are the program's.
    let libc = || unsafe { real::sendto(fd, bytes, len, flags, address, address_len) };
    through(fd, libc, |socket| outgoing(socket, &one(bytes, len), flags))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    if device::is_fast_open(flags) {
        return errno::fail(libc::EOPNOTSUPP);
    }
    // SAFETY: the message is the program's.
    let header = unsafe { message.as_ref() };
    let has_control = header.is_some_and(|header| header.msg_controllen > 0 && !header.msg_control.is_null());
    if has_control && let Some(header) = header {
        passed_on(header);
        if let Some(socket) = Socket::of(fd) {
            evict::leave_at_once(socket);
        }
    }
    // SAFETY: the arguments are the program's.
    let libc = || unsafe { real::sendmsg(fd, message, flags) };
    through(fd, libc, |socket| {
        let header = header?;
        // SAFETY: as above.
        let parts = unsafe { all(header.msg_iov, header.msg_iovlen) }?;
        if has_control { None } else { outgoing(socket, parts, flags) }
    })
}

/// Has sockets whose descriptors are passed on go back to the kernel: nobody knows what their receiver is.
#[cold]
fn passed_on(header: &msghdr) {
    // SAFETY: the header is the program's.
    let mut control = unsafe { libc::CMSG_FIRSTHDR(header) };
    // SAFETY: the pointer is null or lies within the program's control data.
    while let Some(found) = unsafe { control.as_ref() } {
        if (found.cmsg_level, found.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
            // SAFETY: the data lie behind the header.
            let data = unsafe { libc::CMSG_DATA(control) };
            let bytes = found.cmsg_len.saturating_sub(data.addr() - control.addr());
            for at in 0..bytes / size_of::<c_int>() {
                let fd = data.cast::<c_int>().wrapping_add(at);
                // SAFETY: so many descriptors lie there, by the length of the program.
                let fd = unsafe { fd.read_unaligned() };
                if let Some(socket) = Socket::of(fd) {
                    evict::leave_at_once(socket);
                }
            }
        }
        // SAFETY: the header is the program's, and `control` is one of its own.
        control = unsafe { libc::CMSG_NXTHDR(header, control) };
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendmmsg(
    fd: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
) -> c_int {
    if let Some(socket) = Socket::of(fd) {
        evict::leave_at_once(socket);
    }
    for at in 0..count as usize {
        // SAFETY: the program gives so many messages.
        if let Some(message) = unsafe { messages.wrapping_add(at).as_ref() } {
            passed_on(&message.msg_hdr);
        }
    }
    // SAFETY: the arguments are the program's.
    unsafe { real::sendmmsg(fd, messages, count, flags) }
}

/// The bytes of a file that are sent at once.
const CHUNK: usize = 16 << 10;

/// Sends a file into the ring.
fn send_file(socket: Socket, from: c_int, offset: *mut off_t, count: size_t) -> Option<isize> {
    // SAFETY: the offset is the program's, or null.
    let mut at = match unsafe { offset.as_ref() } {
        Some(offset) => *offset,
        // SAFETY: the call takes numbers.
        None => unsafe { libc::lseek(from, 0, libc::SEEK_CUR) },
    };
    let mut sent = 0;
    let mut bytes = [0_u8; CHUNK];
    let mut errno = 0;
    while sent < count {
        let most = CHUNK.min(count - sent);
        // SAFETY: the buffer has this room.
        let read = unsafe { libc::pread(from, bytes.as_mut_ptr().cast(), most, at) };
        if read <= 0 {
            // The kernel says why, of a file that cannot be read at a place.
            if read < 0 && sent == 0 {
                evict::leave_at_once(socket);
                return None;
            }
            break;
        }
        let Some(done) = transmit(socket, &one(bytes.as_ptr().cast(), read as usize), 0) else { break };
        if done < 0 {
            errno = errno::last();
            break;
        }
        at += done as off_t;
        sent += done as usize;
        if done < read {
            break;
        }
    }
    match offset.is_null() {
        // SAFETY: the call takes numbers.
        true => drop(unsafe { libc::lseek(from, at, libc::SEEK_SET) }),
        // SAFETY: the offset is the program's.
        false => unsafe { offset.write(at) },
    }
    Some(if sent == 0 && errno != 0 { errno::fail(errno) } else { sent as isize })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendfile(to: c_int, from: c_int, offset: *mut off_t, count: size_t) -> ssize_t {
    if let Some(source) = Socket::of(from) {
        evict::leave_at_once(source);
    }
    // SAFETY: the arguments are the program's.
    let libc = || unsafe { real::sendfile(to, from, offset, count) };
    through(to, libc, |socket| send_file(socket, from, offset, count))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendfile64(to: c_int, from: c_int, offset: *mut off_t, count: size_t) -> ssize_t {
    // SAFETY: offsets have 64 bits here.
    unsafe { sendfile(to, from, offset, count) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn splice(
    from: c_int,
    from_at: *mut off_t,
    to: c_int,
    to_at: *mut off_t,
    len: size_t,
    flags: c_uint,
) -> ssize_t {
    for socket in [from, to].into_iter().filter_map(Socket::of) {
        evict::leave_at_once(socket);
    }
    // SAFETY: the arguments are the program's.
    unsafe { real::splice(from, from_at, to, to_at, len, flags) }
}
