//! The request to the daemon, and what takes the place of the program's socket.

use crate::carried::entry::{self, Kind};
use crate::{errno, kernel, life, real, settings, watch};
use bertha_sockets_machine::device::{HEAD, Place, REPLY, Reply, SETTINGS, head};
use libc::{c_int, c_void, iovec};
use std::mem::MaybeUninit;
use std::ptr::from_mut;

/// The time that the daemon has to reply, in milliseconds.
const PATIENCE: c_int = 10_000;

/// Room for one descriptor beside a message.
#[repr(C, align(8))]
struct Beside([u8; 24]);

/// A descriptor that is closed when this is dropped.
pub(super) struct Own(pub(super) c_int);

impl Drop for Own {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this library's.
        unsafe { real::close(self.0) };
    }
}

/// Returns true if a socket is of TCP.
pub(super) fn is_tcp(fd: c_int) -> bool {
    let option = |name| kernel::option(fd, libc::SOL_SOCKET, name);
    matches!(option(libc::SO_PROTOCOL), Some(libc::IPPROTO_TCP | libc::IPPROTO_MPTCP))
        && option(libc::SO_TYPE) == Some(libc::SOCK_STREAM)
}

/// Returns true if the rules give sockets of this place to the stack.
pub(super) fn is_meant(place: Place) -> bool {
    /// The port of name servers, which nobody means unless it is named.
    const DOMAIN: u16 = 53;
    let end = settings::End { ip: place.ip, port: place.port };
    (place.port != DOMAIN || settings::has_ports()) && settings::allow([end, end])
}

/// Asks the daemon. Returns the descriptor that came with the reply, or the number of an error.
pub(super) fn ask(hello: [u8; 8], place: Place, fd: c_int) -> Result<Own, c_int> {
    let none = libc::ECONNREFUSED;
    let stack = settings::stack().ok_or(none)?.to_bytes();
    let length = u16::try_from(stack.len().min(SETTINGS)).map_err(|_| none)?;
    let daemon = daemon().ok_or(none)?;
    let head = head(place, length);
    say(&daemon, &hello, &head, &stack[..usize::from(length)], fd).ok_or(none)?;
    while wait(daemon.0, libc::POLLIN, PATIENCE) < 0 && errno::last() == libc::EINTR {}
    let mut bytes = [0; REPLY];
    let (read, file) = hear(daemon.0, &mut bytes, libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC);
    match (read == REPLY as isize, Reply::decode(&bytes), file) {
        (true, Reply::Taken, Some(file)) => Ok(file),
        (true, Reply::Failed(error), _) if error > 0 => Err(error),
        _ => Err(none),
    }
}

/// Connects to the daemon.
fn daemon() -> Option<Own> {
    let path = settings::daemon()?.to_bytes_with_nul();
    // SAFETY: zeros are an address without a name.
    let mut address: libc::sockaddr_un = unsafe { MaybeUninit::zeroed().assume_init() };
    address.sun_family = libc::AF_UNIX as u16;
    let room = address.sun_path.get_mut(..path.len())?;
    room.iter_mut().zip(path).for_each(|(to, from)| *to = from.cast_signed());
    // SAFETY: the call takes numbers.
    let fd = unsafe { real::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return None;
    }
    let daemon = Own(fd);
    let len = size_of::<libc::sockaddr_un>() as u32;
    // SAFETY: the address has this length.
    let connected = unsafe { real::connect(daemon.0, (&raw const address).cast(), len) };
    (connected == 0).then_some(daemon)
}

/// Waits for events. Returns what `poll` does.
pub(super) fn wait(fd: c_int, events: libc::c_short, milliseconds: c_int) -> c_int {
    let mut asked = libc::pollfd { fd, events, revents: 0 };
    // SAFETY: there is one entry.
    unsafe { real::poll(from_mut(&mut asked), 1, milliseconds) }
}

fn say(daemon: &Own, hello: &[u8], head: &[u8; HEAD], stack: &[u8], fd: c_int) -> Option<()> {
    let part = |bytes: &[u8]| iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let parts = [part(hello), part(head), part(stack)];
    let bytes: usize = parts.iter().map(|part| part.iov_len).sum();
    (send_with(daemon.0, &parts, fd, 0) == bytes as isize).then_some(())
}

/// Sends parts with a descriptor. Returns what `sendmsg` does.
pub(super) fn send_with(to: c_int, parts: &[iovec], fd: c_int, flags: c_int) -> isize {
    let mut beside = Beside([0; 24]);
    beside.0[..8].copy_from_slice(&20_usize.to_ne_bytes());
    beside.0[8..12].copy_from_slice(&libc::SOL_SOCKET.to_ne_bytes());
    beside.0[12..16].copy_from_slice(&libc::SCM_RIGHTS.to_ne_bytes());
    beside.0[16..20].copy_from_slice(&fd.to_ne_bytes());
    let mut header = kernel::header(parts);
    header.msg_control = from_mut(&mut beside).cast();
    header.msg_controllen = 24;
    // SAFETY: the header has memory of this function and of its caller.
    unsafe { real::sendmsg(to, &raw const header, libc::MSG_NOSIGNAL | flags) }
}

/// Receives a message, with the descriptor that came with it. Returns what `recvmsg` does.
pub(super) fn hear(from: c_int, bytes: &mut [u8], flags: c_int) -> (isize, Option<Own>) {
    let parts = [iovec { iov_base: bytes.as_mut_ptr().cast::<c_void>(), iov_len: bytes.len() }];
    let mut beside = Beside([0; 24]);
    let mut header = kernel::header(&parts);
    header.msg_control = from_mut(&mut beside).cast();
    header.msg_controllen = 24;
    // SAFETY: the header has memory of this function and of its caller.
    let read = unsafe { real::recvmsg(from, &raw mut header, flags) };
    let has_file = read >= 0 && header.msg_controllen >= 20;
    let file = beside.0[16..20].try_into().map(c_int::from_ne_bytes);
    (read, file.ok().filter(|_| has_file).map(Own))
}

/// Puts a descriptor into the place of the program's socket, with what the program has set.
pub(super) fn take_place(fd: c_int, new: Own, kind: Kind, is_ipv6: bool, local: Place, peer: Place) -> bool {
    // SAFETY: the command takes no argument.
    let flags = unsafe { real::fcntl(fd, libc::F_GETFD, 0) };
    // SAFETY: as above.
    let status = unsafe { real::fcntl(fd, libc::F_GETFL, 0) };
    if flags < 0 || status < 0 {
        return false;
    }
    // SAFETY: the command takes flags.
    unsafe { real::fcntl(new.0, libc::F_SETFL, (status & libc::O_NONBLOCK) as usize) };
    for name in [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO] {
        if let Some(time) = time(fd, name) {
            kernel::set_option(new.0, libc::SOL_SOCKET, name, &time);
        }
    }
    let nodelay = kernel::option(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY).unwrap_or(0) != 0;
    life::forget_socket(fd);
    watch::closed(fd);
    entry::register_anew(fd, libc::EPOLL_CTL_DEL);
    let cloexec = if flags & libc::FD_CLOEXEC == 0 { 0 } else { libc::O_CLOEXEC };
    // SAFETY: the first descriptor is this library's, and the second the program's, which it wants connected.
    let done = unsafe { real::dup3(new.0, fd, cloexec) };
    if done < 0 || !entry::enter(fd, kind, is_ipv6, local, peer) {
        return false;
    }
    if let Some(entry) = entry::of(fd) {
        entry.nodelay.store(nodelay, std::sync::atomic::Ordering::Relaxed);
    }
    entry::register_anew(fd, libc::EPOLL_CTL_ADD);
    true
}

/// Returns the time of an option.
pub(super) fn time(fd: c_int, name: c_int) -> Option<libc::timeval> {
    let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let mut len = size_of::<libc::timeval>() as u32;
    // SAFETY: the value has this length.
    let done =
        unsafe { real::getsockopt(fd, libc::SOL_SOCKET, name, from_mut(&mut time).cast(), &raw mut len) };
    (done == 0).then_some(time)
}
