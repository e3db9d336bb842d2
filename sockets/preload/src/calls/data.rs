//! Calls that read and write.

use crate::carried::entry::Entry;
use crate::controls::controls;
use crate::device::Sender;
use crate::parts::{is_there, length};
use crate::place::State;
use crate::process::Socket;
use crate::receive::{receive, receive_and_drop};
use crate::time::Deadline;
use crate::transmit::transmit;
use crate::{births, device, errno, evict, join, real, relay, uring};
use bertha_sockets_machine::Why;
use libc::{c_int, c_uint, c_void, iovec, mmsghdr, msghdr, size_t, sockaddr, socklen_t, ssize_t, timespec};
use std::ptr::from_ref;
use std::slice;
use std::sync::atomic::Ordering;

/// The most parts of a call.
const PARTS: usize = 1024;

/// No address: a datagram is for the peer of its socket.
const TO_PEER: (*const sockaddr, socklen_t) = (std::ptr::null(), 0);

/// Calls that a ring has no answer to.
const UNFIT: c_int = libc::MSG_OOB | libc::MSG_ERRQUEUE;

/// Has libc do it, or, for a socket with memory, `own`, or, for one of datagrams that a device carries, `datagram`.
#[inline]
pub(super) fn through(
    fd: c_int,
    mut libc: impl FnMut() -> isize,
    own: impl FnOnce(Socket) -> Option<isize>,
    datagram: impl FnOnce(&Entry) -> isize,
) -> isize {
    let Some(socket) = Socket::of(fd) else { return device::call(fd, libc, datagram) };
    let place = socket.place;
    loop {
        match place.state() {
            State::Kernel => return libc(),
            State::Paired => return own(socket).unwrap_or_else(libc),
            // A handler of a signal that interrupts it can't wait for its end.
            State::Attaching if !place.has_attached() => {
                return own(socket).unwrap_or_else(|| errno::fail(libc::EAGAIN));
            }
            State::Attaching => continue,
            State::Joining => go_on(socket),
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

/// Has a socket go on to its ring, unless an io_uring is found.
#[cold]
fn go_on(socket: Socket) {
    let was_known = uring::is_known();
    join::go_on(socket);
    if uring::is_known() && !was_known {
        // Those that have rings got them before it was there.
        relay::bring_all_back(Why::Uring);
    }
}

/// Has a socket go back to the kernel for urgent data, or stay there if it has no ring yet.
#[inline]
fn settle_urgent(fd: c_int, flags: c_int) {
    if flags & libc::MSG_OOB != 0
        && let Some(socket) = Socket::of(fd)
    {
        evict::leave_at_once(socket, Why::Urgent);
    }
}

fn incoming(socket: Socket, parts: &[iovec], flags: c_int) -> Option<isize> {
    if flags & UNFIT != 0 {
        return None;
    }
    if flags & libc::MSG_TRUNC != 0 {
        return receive_and_drop(socket, length(parts), flags);
    }
    receive(socket, parts, flags)
}

/// Reads, where nothing is read at once if nothing is asked for.
fn read_in(socket: Socket, parts: &[iovec]) -> Option<isize> {
    if length(parts) == 0 { None } else { incoming(socket, parts, 0) }
}

fn outgoing(socket: Socket, parts: &[iovec], flags: c_int) -> Option<isize> {
    if flags & UNFIT != 0 || parts.iter().all(|part| part.iov_len == 0) {
        return None;
    }
    transmit(socket, parts, flags)
}

pub(super) fn one(bytes: *const c_void, len: size_t) -> [iovec; 1] {
    [iovec { iov_base: bytes.cast_mut(), iov_len: len }]
}

/// Returns the parts, if their number is one that the kernel takes.
///
/// # Safety
/// `parts` has so many parts.
unsafe fn all<'a>(parts: *const iovec, count: usize) -> Option<&'a [iovec]> {
    // SAFETY: the caller says so.
    (count <= PARTS && is_there(parts, count)).then(|| unsafe { slice::from_raw_parts(parts, count) })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn read(fd: c_int, bytes: *mut c_void, len: size_t) -> ssize_t {
    // SAFETY: the arguments are the program's.
    let libc = || unsafe { real::read(fd, bytes, len) };
    let datagram = |entry: &Entry| match len {
        // As with the kernel, the datagram stays where it is.
        0 => 0,
        _ => device::receive(fd, &one(bytes, len), 0, (Sender::UNWANTED, entry), None),
    };
    through(fd, libc, |socket| read_in(socket, &one(bytes, len)), datagram)
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
    // SAFETY: as above.
    let parts = || unsafe { all(parts, usize::try_from(count).ok()?) };
    through(
        fd,
        libc,
        |socket| read_in(socket, parts()?),
        |entry| match parts() {
            Some(parts) if length(parts) == 0 => 0,
            Some(parts) => device::receive(fd, parts, 0, (Sender::UNWANTED, entry), None),
            None => errno::fail(libc::EINVAL),
        },
    )
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn recv(
    fd: c_int,
    bytes: *mut c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    settle_urgent(fd, flags);
    // SAFETY: the arguments are the program's.
    let libc = || unsafe { real::recv(fd, bytes, len, flags) };
    let datagram =
        |entry: &Entry| device::receive(fd, &one(bytes, len), flags, (Sender::UNWANTED, entry), None);
    through(fd, libc, |socket| incoming(socket, &one(bytes, len), flags), datagram)
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
    settle_urgent(fd, flags);
    // SAFETY: the arguments are the program's.
    let libc = || unsafe { real::recvfrom(fd, bytes, len, flags, address, address_len) };
    let own = |socket| {
        let received = incoming(socket, &one(bytes, len), flags)?;
        if received >= 0 && !address.is_null() && !address_len.is_null() {
            // TCP tells no address here.
            // SAFETY: the program gives a length with an address.
            unsafe { address_len.write(0) };
        }
        Some(received)
    };
    through(fd, libc, own, |entry| {
        device::receive(fd, &one(bytes, len), flags, (Sender { address, len: address_len }, entry), None)
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
    settle_urgent(fd, flags);
    // SAFETY: the arguments are the program's.
    let libc = || unsafe { real::recvmsg(fd, message, flags) };
    let own = |socket| {
        // SAFETY: the message is the program's.
        let header = unsafe { message.as_mut() }?;
        // SAFETY: as above.
        let parts = unsafe { all(header.msg_iov, header.msg_iovlen) }?;
        let received = incoming(socket, parts, flags)?;
        if received >= 0 {
            (header.msg_namelen, header.msg_controllen, header.msg_flags) = (0, 0, 0);
        }
        Some(received)
    };
    through(fd, libc, own, |entry| {
        if !is_there(message, 1) {
            return errno::fail(libc::EFAULT);
        }
        // SAFETY: the message is the program's.
        let header = unsafe { &mut *message };
        // SAFETY: as above.
        let Some(parts) = (unsafe { all(header.msg_iov, header.msg_iovlen) }) else {
            return errno::fail(libc::EMSGSIZE);
        };
        let sender = Sender { address: header.msg_name.cast(), len: &raw mut header.msg_namelen };
        header.msg_controllen = 0;
        device::receive(fd, parts, flags, (sender, entry), Some(&mut header.msg_flags))
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
    if !is_settled_in_ring(fd) && device::datagrams(fd).is_none() {
        // SAFETY: the arguments are the program's.
        return unsafe { real::recvmmsg(fd, messages, count, flags, timeout) };
    }
    // This call alone tells of an error before it looks for bytes.
    let (mut error, mut len): (c_int, socklen_t) = (0, size_of::<c_int>() as socklen_t);
    // SAFETY: the value has this length.
    unsafe {
        super::sockets::getsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_ERROR,
            (&raw mut error).cast(),
            &raw mut len,
        );
    }
    if error != 0 {
        return errno::fail(error) as c_int;
    }
    // SAFETY: the time is the program's, or null.
    let deadline = Deadline::after(unsafe { timeout.as_ref() });
    let mut flags = flags;
    each(messages, count, |message| {
        // SAFETY: the message is the program's.
        let received = unsafe { recvmsg(fd, &raw mut message.msg_hdr, flags & !libc::MSG_WAITFORONE) };
        if flags & libc::MSG_WAITFORONE != 0 {
            flags |= libc::MSG_DONTWAIT;
        }
        (received, !deadline.is_over())
    })
}

/// Returns true if a socket has a ring. One that has none has none later: a call that libc carries out and that is not counted would take bells
/// for bytes of the stream.
pub(super) fn is_settled_in_ring(fd: c_int) -> bool {
    if !is_paired(fd)
        && let Some(socket) = Socket::of(fd)
    {
        evict::leave(socket, Why::Many);
    }
    is_paired(fd)
}

pub(super) fn is_paired(fd: c_int) -> bool {
    Socket::of(fd).is_some_and(|socket| socket.place.state() == State::Paired)
}

/// Has `call` receive or send each of the messages, until one fails or it says so. Returns their number.
fn each(messages: *mut mmsghdr, count: c_uint, mut call: impl FnMut(&mut mmsghdr) -> (isize, bool)) -> c_int {
    let count = count.min(PARTS as c_uint);
    for at in 0..count {
        // SAFETY: the program gives so many messages.
        let Some(message) = (unsafe { messages.wrapping_add(at as usize).as_mut() }) else {
            return errno::fail(libc::EFAULT) as c_int;
        };
        let (done, goes_on) = call(message);
        if done < 0 {
            return if at > 0 { at as c_int } else { -1 };
        }
        // The conversion is exact, as the kernel moves no more at once.
        message.msg_len = done as c_uint;
        if !goes_on {
            return at as c_int + 1;
        }
    }
    count as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn write(fd: c_int, bytes: *const c_void, len: size_t) -> ssize_t {
    // SAFETY: the arguments are the program's.
    let libc = || unsafe { real::write(fd, bytes, len) };
    let datagram = |entry: &Entry| device::send(fd, entry, &one(bytes, len), 0, TO_PEER);
    through(fd, libc, |socket| outgoing(socket, &one(bytes, len), 0), datagram)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn writev(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: the arguments are the program's.
    let libc = || unsafe { real::writev(fd, parts, count) };
    // SAFETY: as above.
    let parts = || unsafe { all(parts, usize::try_from(count).ok()?) };
    through(
        fd,
        libc,
        |socket| outgoing(socket, parts()?, 0),
        |entry| match parts() {
            Some(parts) => device::send(fd, entry, parts, 0, TO_PEER),
            None => errno::fail(libc::EINVAL),
        },
    )
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn send(
    fd: c_int,
    bytes: *const c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    settle_urgent(fd, flags);
    // SAFETY: the arguments are the program's.
    let libc = || unsafe { real::send(fd, bytes, len, flags) };
    let datagram = |entry: &Entry| device::send(fd, entry, &one(bytes, len), flags, TO_PEER);
    through(fd, libc, |socket| outgoing(socket, &one(bytes, len), flags), datagram)
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
    if !device::begin(fd, address, address_len) {
        return -1;
    }
    settle_urgent(fd, flags);
    // SAFETY: the arguments are the program's.
    let libc = || unsafe { real::sendto(fd, bytes, len, flags, address, address_len) };
    let datagram = |entry: &Entry| device::send(fd, entry, &one(bytes, len), flags, (address, address_len));
    through(fd, libc, |socket| outgoing(socket, &one(bytes, len), flags), datagram)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    if device::is_fast_open(flags) {
        return errno::fail(libc::EOPNOTSUPP);
    }
    // SAFETY: the message is the program's.
    let header = is_there(message, 1).then(|| unsafe { &*message });
    let has_control = header.is_some_and(|header| {
        header.msg_controllen > 0 && is_there(header.msg_control.cast::<u8>(), header.msg_controllen)
    });
    if has_control && let Some(header) = header {
        if !pass_on(header) {
            return errno::fail(libc::EAGAIN);
        }
        if let Some(socket) = Socket::of(fd) {
            evict::leave_at_once(socket, Why::Passed);
        }
    }
    if header.is_some_and(|header| !device::begin(fd, header.msg_name.cast(), header.msg_namelen)) {
        return -1;
    }
    settle_urgent(fd, flags);
    // SAFETY: the arguments are the program's.
    let libc = || unsafe { real::sendmsg(fd, message, flags) };
    let own = |socket| {
        let header = header?;
        // SAFETY: as above.
        let parts = unsafe { all(header.msg_iov, header.msg_iovlen) }?;
        if has_control { None } else { outgoing(socket, parts, flags) }
    };
    through(fd, libc, own, |entry| {
        let Some(header) = header else { return errno::fail(libc::EFAULT) };
        // SAFETY: as above.
        let Some(parts) = (unsafe { all(header.msg_iov, header.msg_iovlen) }) else {
            return errno::fail(libc::EMSGSIZE);
        };
        if has_control && device::is_cut(header) {
            return errno::fail(libc::EIO);
        }
        device::send(fd, entry, parts, flags, (header.msg_name.cast(), header.msg_namelen))
    })
}

/// Has sockets whose descriptors are passed on go back to the kernel, or has others take their places: nobody knows what their receiver is.
/// Returns false if bytes of one lie in its ring, which the receiver would miss.
#[cold]
fn pass_on(header: &msghdr) -> bool {
    let mut is_whole = true;
    for found in controls(header) {
        if (found.cmsg_level, found.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
            // SAFETY: the data lie behind the header.
            let data = unsafe { libc::CMSG_DATA(found) };
            let bytes = found.cmsg_len.saturating_sub(data.addr() - from_ref(found).addr());
            for at in 0..bytes / size_of::<c_int>() {
                let fd = data.cast::<c_int>().wrapping_add(at);
                // SAFETY: so many descriptors lie there, by the length of the program.
                let fd = unsafe { fd.read_unaligned() };
                births::shared(fd);
                is_whole &= Socket::of(fd).is_none_or(|socket| relay::bring_back(socket, Why::Passed));
            }
        }
    }
    is_whole
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendmmsg(
    fd: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
) -> c_int {
    // SAFETY: the program gives so many messages.
    let first = unsafe { messages.as_ref() }.filter(|_| count > 0).map(|message| &message.msg_hdr);
    if first.is_some_and(|header| !device::begin(fd, header.msg_name.cast(), header.msg_namelen)) {
        return -1;
    }
    if is_settled_in_ring(fd) || device::datagrams(fd).is_some() {
        return each(messages, count, |message| {
            // SAFETY: the message is the program's.
            (unsafe { sendmsg(fd, &raw const message.msg_hdr, flags) }, true)
        });
    }
    for at in 0..count as usize {
        // SAFETY: the program gives so many messages.
        let message = unsafe { messages.wrapping_add(at).as_ref() };
        if message.is_some_and(|message| !pass_on(&message.msg_hdr)) {
            return errno::fail(libc::EAGAIN) as c_int;
        }
    }
    // SAFETY: the arguments are the program's.
    unsafe { real::sendmmsg(fd, messages, count, flags) }
}
