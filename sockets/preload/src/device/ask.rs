//! The request to the daemon, and what takes the place of the program's socket.

use crate::carried::entry::{self, Kind};
use crate::visit::{Own, daemon, hear, part, send_with, wait};
use crate::{errno, kernel, life, process, real, settings, watch};
use bertha_sockets_machine::device::{HEAD, Place, REPLY, Reply, SETTINGS, head};
use libc::c_int;
use std::ptr::from_mut;

/// The time that the daemon has to reply, in milliseconds.
const PATIENCE: c_int = 10_000;

/// Returns true if a socket is of TCP.
pub(super) fn is_tcp(fd: c_int) -> bool {
    let option = |name| kernel::option(fd, libc::SOL_SOCKET, name);
    matches!(option(libc::SO_PROTOCOL), Some(libc::IPPROTO_TCP | libc::IPPROTO_MPTCP))
        && option(libc::SO_TYPE) == Some(libc::SOCK_STREAM)
}

/// Returns true if the rules give a socket of this place to the stack.
pub(super) fn is_meant(fd: c_int, place: Place) -> bool {
    /// The port of name servers, which nobody means unless it is named.
    const DOMAIN: u16 = 53;
    let end = settings::End { ip: place.ip, port: place.port };
    (place.port != DOMAIN || settings::has_ports()) && settings::allow(fd, [end, end])
}

/// Asks the daemon. Returns the descriptor that came with the reply, or the number of an error.
pub(super) fn ask(hello: [u8; 8], place: Place, fd: c_int) -> Result<Own, c_int> {
    let none = libc::ECONNREFUSED;
    let stack = settings::stack().ok_or(none)?.to_bytes();
    let length = u16::try_from(stack.len().min(SETTINGS)).map_err(|_| none)?;
    let daemon = daemon(0).map(aside).ok_or_else(|| match errno::last() {
        lack @ (libc::EMFILE | libc::ENFILE) => lack,
        _ => none,
    })?;
    let head = head(place, length);
    say(&daemon, &hello, &head, &stack[..usize::from(length)], fd).ok_or(none)?;
    while wait(daemon.0, libc::POLLIN, PATIENCE) < 0 && errno::last() == libc::EINTR {}
    let mut bytes = [0; REPLY];
    let (read, file) = hear(daemon.0, &mut bytes, libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC);
    match (read == REPLY as isize, Reply::decode(&bytes), file) {
        (true, Reply::Taken, Some(file)) => Ok(file),
        (true, Reply::Taken, None) => Err(libc::EMFILE),
        (true, Reply::Failed(error), _) if error > 0 => Err(error),
        _ => Err(none),
    }
}

/// Moves a descriptor to a number that a program does not use by mistake, as one that it has closed in another thread.
fn aside(low: Own) -> Own {
    // SAFETY: the command takes a number.
    let high = unsafe { real::fcntl(low.0, libc::F_DUPFD_CLOEXEC, process::FIRST_OWN) };
    if high < 0 { low } else { Own(high) }
}

fn say(daemon: &Own, hello: &[u8], head: &[u8; HEAD], stack: &[u8], fd: c_int) -> Option<()> {
    let parts = [part(hello), part(head), part(stack)];
    let bytes: usize = parts.iter().map(|part| part.iov_len).sum();
    (send_with(daemon.0, &parts, &[fd], 0) == bytes as isize).then_some(())
}

/// Has calls on a socket wait as those on the program's do.
pub(crate) fn set_alike(new: c_int, fd: c_int, is_nonblocking: bool) {
    let status = if is_nonblocking { libc::O_NONBLOCK } else { 0 };
    // SAFETY: the command takes flags.
    unsafe { real::fcntl(new, libc::F_SETFL, status as usize) };
    for name in [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO] {
        if let Some(time) = time(fd, name) {
            kernel::set_option(new, libc::SOL_SOCKET, name, &time);
        }
    }
}

/// Puts a descriptor into the place of the program's socket, with what the program has set.
pub(super) fn take_place(fd: c_int, new: Own, kind: Kind, is_ipv6: bool, local: Place, peer: Place) -> bool {
    // SAFETY: the command takes no argument.
    let flags = unsafe { real::fcntl(fd, libc::F_GETFD, 0) };
    if flags < 0 {
        return false;
    }
    set_alike(new.0, fd, kernel::is_nonblocking(fd));
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
