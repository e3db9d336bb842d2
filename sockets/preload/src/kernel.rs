//! Small requests to the kernel about a carrier.

use crate::{errno, real};
use libc::{c_int, c_short, c_void, iovec, msghdr, pollfd};
use std::ffi::CStr;
use std::mem::{MaybeUninit, size_of};
use std::ptr::{from_mut, from_ref, null_mut};

/// Looks at the next byte without taking it. Returns what `recv` does. Waits as the socket says, unless there is `MSG_DONTWAIT`.
pub(crate) fn peek(fd: c_int, flags: c_int) -> isize {
    let mut byte = 0_u8;
    // SAFETY: the buffer has one byte.
    unsafe { real::recv(fd, from_mut(&mut byte).cast(), 1, flags | libc::MSG_PEEK) }
}

/// Takes bytes that nobody reads. Returns what `recv` does, and does not wait.
pub(crate) fn discard(fd: c_int, bytes: u64) -> isize {
    let most = usize::try_from(bytes).unwrap_or(usize::MAX).min(1 << 30);
    // SAFETY: with MSG_TRUNC, TCP copies nothing.
    unsafe { real::recv(fd, null_mut(), most, libc::MSG_TRUNC | libc::MSG_DONTWAIT) }
}

/// Sends the byte that wakes the other end. Returns what `send` does, and does not wait.
pub(crate) fn bell(fd: c_int) -> isize {
    // SAFETY: the buffer has one byte.
    unsafe { real::send(fd, [0_u8].as_ptr().cast(), 1, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) }
}

/// Returns which of the events are there now.
pub(crate) fn events(fd: c_int, events: c_short) -> c_short {
    let mut asked = pollfd { fd, events, revents: 0 };
    // SAFETY: there is one entry.
    let found = unsafe { real::poll(from_mut(&mut asked), 1, 0) };
    if found > 0 { asked.revents } else { 0 }
}

/// Returns true if calls on the socket do not wait.
pub(crate) fn is_nonblocking(fd: c_int) -> bool {
    // SAFETY: the command takes no argument.
    let flags = unsafe { real::fcntl(fd, libc::F_GETFL, 0) };
    flags >= 0 && flags & libc::O_NONBLOCK != 0
}

/// Returns an option of the socket, as a number.
pub(crate) fn option(fd: c_int, level: c_int, name: c_int) -> Option<c_int> {
    let mut value: c_int = 0;
    let mut len = size_of::<c_int>() as u32;
    // SAFETY: the value has this length.
    let done = unsafe { real::getsockopt(fd, level, name, from_mut(&mut value).cast(), &raw mut len) };
    (done == 0).then_some(value)
}

/// Returns the interface that the socket is bound to, by its name, in the memory of the caller.
pub(crate) fn interface(fd: c_int, name: &mut [u8; libc::IFNAMSIZ]) -> Option<&str> {
    let mut len = name.len() as u32;
    let into = name.as_mut_ptr().cast();
    // SAFETY: the memory has this length.
    let done = unsafe { real::getsockopt(fd, libc::SOL_SOCKET, libc::SO_BINDTODEVICE, into, &raw mut len) };
    let name = name.get(..len as usize).filter(|_| done == 0)?;
    CStr::from_bytes_until_nul(name).ok()?.to_str().ok().filter(|name| !name.is_empty())
}

/// Returns true if a close of the socket is to reset the connection.
pub(crate) fn aborts(fd: c_int) -> bool {
    let mut linger = libc::linger { l_onoff: 0, l_linger: 0 };
    let mut len = size_of::<libc::linger>() as u32;
    let value = from_mut(&mut linger).cast();
    // SAFETY: the value has this length.
    let done = unsafe { real::getsockopt(fd, libc::SOL_SOCKET, libc::SO_LINGER, value, &raw mut len) };
    done == 0 && linger.l_onoff != 0 && linger.l_linger == 0
}

/// Sets an option of the socket, to a value without pointers.
pub(crate) fn set_option<T>(fd: c_int, level: c_int, name: c_int, value: &T) {
    // SAFETY: the value has this length.
    unsafe { real::setsockopt(fd, level, name, from_ref(value).cast(), size_of::<T>() as u32) };
}

/// Returns the time that a read waits at most, if it has an end.
pub(crate) fn receive_time(fd: c_int) -> Option<libc::timespec> {
    let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let mut len = size_of::<libc::timeval>() as u32;
    let value = from_mut(&mut time).cast();
    // SAFETY: the value has this length.
    let done = unsafe { real::getsockopt(fd, libc::SOL_SOCKET, libc::SO_RCVTIMEO, value, &raw mut len) };
    let has_end = done == 0 && (time.tv_sec, time.tv_usec) != (0, 0);
    has_end.then(|| libc::timespec { tv_sec: time.tv_sec, tv_nsec: time.tv_usec * 1000 })
}

/// The bytes that a connection has carried, as the kernel counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Carried {
    /// Written to the socket.
    pub(crate) written: u64,
    /// Read from the socket.
    pub(crate) read: u64,
}

/// The knowledge of the kernel about a TCP connection, up to what is needed here. Older kernels tell less, and then nothing is known.
#[repr(C)]
struct Info {
    state: u8,
    before: [u8; 119],
    bytes_acked: u64,
    bytes_received: u64,
    segments: [u32; 2],
    notsent_bytes: u32,
    min_rtt: u32,
    data_segments: [u32; 2],
    delivery_rate: u64,
    times: [u64; 3],
    delivered: [u32; 2],
    bytes_sent: u64,
    bytes_retrans: u64,
}

/// The state of a connection that both ends can write to.
const ESTABLISHED: u8 = 1;

/// Returns what an established connection has carried. While another thread reads, there is no answer.
pub(crate) fn carried(fd: c_int) -> Option<Carried> {
    for _ in 0..8 {
        let before = unread(fd)?;
        let info = info(fd)?;
        if unread(fd)? == before {
            let written = info.bytes_sent.checked_sub(info.bytes_retrans)? + u64::from(info.notsent_bytes);
            let read = info.bytes_received.checked_sub(before)?;
            return (info.state == ESTABLISHED).then_some(Carried { written, read });
        }
    }
    None
}

fn info(fd: c_int) -> Option<Info> {
    let mut info = MaybeUninit::<Info>::zeroed();
    let mut len = size_of::<Info>() as u32;
    // SAFETY: the value has this length.
    let done = unsafe {
        real::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, info.as_mut_ptr().cast(), &raw mut len)
    };
    let is_whole = done == 0 && len as usize == size_of::<Info>();
    // SAFETY: any bits are a value.
    is_whole.then(|| unsafe { info.assume_init() })
}

/// Returns the number of bytes that the kernel has for the reader.
pub(crate) fn unread(fd: c_int) -> Option<u64> {
    let mut bytes: c_int = 0;
    // SAFETY: the request writes one number.
    let done = unsafe { real::ioctl(fd, libc::FIONREAD, (&raw mut bytes).addr()) };
    (done == 0).then(|| u64::try_from(bytes).ok()).flatten()
}

/// Receives or sends parts by one call.
pub(crate) fn header(parts: &[iovec]) -> msghdr {
    // SAFETY: zeros are a header without anything.
    let mut header: msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    header.msg_iov = parts.as_ptr().cast_mut();
    header.msg_iovlen = parts.len() as _;
    header
}

/// Waits until there is room to write, or for `milliseconds`.
pub(crate) fn await_room(fd: c_int, milliseconds: c_int) {
    let mut asked = pollfd { fd, events: libc::POLLOUT, revents: 0 };
    // SAFETY: there is one entry.
    unsafe { real::poll(from_mut(&mut asked), 1, milliseconds) };
}

/// Ends the connection by a reset, which the other end hears of.
pub(crate) fn reset(fd: c_int) {
    // SAFETY: zeros are an address of no family.
    let address: libc::sockaddr = unsafe { MaybeUninit::zeroed().assume_init() };
    let kept = errno::last();
    // SAFETY: the address has this length. For TCP, the family of none means to disconnect.
    unsafe { real::connect(fd, &raw const address, size_of::<libc::sockaddr>() as u32) };
    errno::set(kept);
}

/// Sleeps for a fifth of a millisecond. Returns false if a signal came.
pub(crate) fn sleep_briefly() -> bool {
    let time = libc::timespec { tv_sec: 0, tv_nsec: 200_000 };
    let time: *const c_void = from_ref(&time).cast();
    // SAFETY: the time lives until the call returns.
    unsafe { real::syscall(libc::SYS_nanosleep, time.addr(), 0, 0, 0, 0, 0) == 0 }
}
