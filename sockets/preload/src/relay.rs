//! A socket whose bytes lie in a ring, and whose other end does not send them again: the daemon puts another socket in its place, and
//! carries the bytes between the two.

use crate::place::{Receiving, State};
use crate::process::{self, Socket};
use crate::quiet::Quiet;
use crate::step::Step;
use crate::time::Deadline;
use crate::visit::{Own, daemon, hear, part, send_with, wait};
use crate::watch::Guard;
use crate::{device, errno, evict, kernel, life, memory, real, reset, take, waiting, watch};
use bertha_sockets_machine::Why;
use bertha_sockets_machine::device::{REPLY, Reply};
use bertha_sockets_machine::protocol::{CUT, RELAY};
use libc::c_int;
use std::sync::atomic::Ordering;

/// The time that the daemon has, in milliseconds.
const PATIENCE: c_int = 3000;

/// Moves all sockets to the kernel, as [`bring_back`] does.
pub(crate) fn bring_all_back(why: Why) -> bool {
    let deadline = Deadline::after_milliseconds(evict::LONG);
    process::sockets().for_each(|socket| evict::leave(socket, why));
    // All are tried, also behind one that fails.
    process::sockets().filter(|socket| !come_back(*socket, deadline)).count() == 0
}

/// Moves a socket to the kernel, or puts another one in its place, while this process goes on. Returns false if neither can be.
pub(crate) fn bring_back(socket: Socket, why: Why) -> bool {
    evict::leave(socket, why);
    come_back(socket, Deadline::after_milliseconds(evict::LONG))
}

fn come_back(socket: Socket, deadline: Deadline) -> bool {
    evict::has_left(socket, deadline) || take_place_meanwhile(socket)
}

/// Does as [`take_place`], while this process goes on. A read that waits would go on with the old socket, and has time to take what is there.
pub(crate) fn take_place_meanwhile(socket: Socket) -> bool {
    let deadline = Deadline::after_milliseconds(evict::BRIEF);
    while waiting::is_awaited(socket.number) && !deadline.is_over() {
        kernel::sleep_briefly();
    }
    replace(socket, || !waiting::is_awaited(socket.number))
}

/// Puts another socket in the place of one that this process alone has, at each of its descriptors. Returns false if there is no daemon
/// that carries the bytes.
pub(crate) fn take_place(socket: Socket) -> bool {
    replace(socket, || true)
}

/// Replaces a socket if `may_be`, which is asked once no other call can begin with the old one.
fn replace(socket: Socket, may_be: impl FnOnce() -> bool) -> bool {
    let kept = errno::last();
    let is_replaced =
        socket.is_ours_alone() && evict::sever(socket) && replace_severed(socket, may_be).is_some();
    errno::set(kept);
    is_replaced
}

/// Threads that read, write, close or wait by epoll have to wait meanwhile, and then find the new socket. A write that waits in the kernel
/// goes on with the old one: it is under way at once with those behind it, so their order is nobody's.
fn replace_severed(socket: Socket, may_be: impl FnOnce() -> bool) -> Option<()> {
    // A handler of a signal could not wait.
    let _quiet = Quiet::begin();
    let mut watches = watch::lock()?;
    let Ok(sending) = socket.place.sending() else { return None };
    let mut receiving = socket.receiving().filter(|_| may_be())?;
    if socket.place.state() != State::Paired {
        return Some(());
    }
    let is_swapped = ask(socket, &mut receiving, &mut watches)?;
    drop((sending, receiving, watches));
    if is_swapped {
        for Socket { fd, .. } in process::sockets().filter(|other| other.number == socket.number) {
            life::forget_socket(fd);
        }
    }
    Some(())
}

/// Returns true if the daemon's socket is in the place of the other, and false if the connection is over.
fn ask(socket: Socket, receiving: &mut Receiving<'_>, watches: &mut Guard) -> Option<bool> {
    let daemon = daemon(libc::SOCK_NONBLOCK)?;
    let unread = memory::file()?;
    // The daemon sets both otherwise.
    let (is_nonblocking, aborts) =
        (socket.place.nonblocking.load(Ordering::Relaxed), kernel::aborts(socket.fd));
    let sent = send_with(daemon.0, &[part(&RELAY)], &[socket.fd, unread.0], 0);
    if sent != RELAY.len() as isize || wait(daemon.0, libc::POLLIN, PATIENCE) <= 0 {
        return None;
    }
    let mut reply = [0; REPLY];
    let (read, new) = hear(daemon.0, &mut reply, libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC);
    let is_taken = read == REPLY as isize && Reply::decode(&reply) == Reply::Taken;
    let new = new.filter(|_| is_taken)?;
    // From here on there is no way back: bytes of the carrier are taken, too.
    let told = put_unread(socket, receiving, unread.0).map(u64::to_le_bytes);
    let is_told = told.is_some_and(|told| {
        // SAFETY: the buffer has this length.
        unsafe { real::send(daemon.0, told.as_ptr().cast(), told.len(), libc::MSG_NOSIGNAL) == 8 }
    });
    if is_told {
        device::set_alike(new.0, socket.fd, is_nonblocking);
        if aborts {
            let linger = libc::linger { l_onoff: 1, l_linger: 0 };
            kernel::set_option(new.0, libc::SOL_SOCKET, libc::SO_LINGER, &linger);
        }
        swap(socket, watches, new);
    } else {
        reset::reset(socket);
    }
    Some(is_told)
}

/// Writes what the program has not read into the file. Returns the number of bytes, with [`CUT`], once all that comes then comes by the kernel.
fn put_unread(socket: Socket, receiving: &mut Receiving<'_>, file: c_int) -> Option<u64> {
    let (receiver, side) = receiving.parts()?;
    let mut all = 0;
    let mut bytes = [0_u8; 16 << 10];
    while !evict::has_all_come(socket, receiver, side) {
        let Ok(Step::Got(got)) = take::take(socket, receiver, side, &[part(&bytes)], 0) else { return None };
        // SAFETY: the buffer has so many bytes.
        let put = unsafe { real::write(file, bytes.as_mut_ptr().cast(), got) };
        if put != got as isize {
            return None;
        }
        all += got as u64;
    }
    let is_cut = socket.place.error.swap(0, Ordering::Relaxed) != 0;
    Some(if is_cut { all | CUT } else { all })
}

/// Puts the new socket at all descriptors of the old one, with what the program has set.
fn swap(socket: Socket, watches: &mut Guard, new: Own) {
    let place = socket.place;
    let set = |level, name, value: c_int| kernel::set_option(new.0, level, name, &value);
    set(libc::IPPROTO_TCP, libc::TCP_NODELAY, place.nodelay.load(Ordering::Relaxed).into());
    let is_kept_alive = kernel::option(socket.fd, libc::SOL_SOCKET, libc::SO_KEEPALIVE);
    set(libc::SOL_SOCKET, libc::SO_KEEPALIVE, is_kept_alive.unwrap_or(0));
    for (is_shut, how) in [(&place.is_shut, libc::SHUT_WR), (&place.is_read_shut, libc::SHUT_RD)] {
        if is_shut.load(Ordering::Relaxed) {
            // SAFETY: the call takes numbers.
            unsafe { real::shutdown(new.0, how) };
        }
    }
    let registered = watch::take_out(watches, socket.number);
    if let Some((set, fd, _)) = registered {
        // SAFETY: no event is needed to remove a descriptor.
        unsafe { real::epoll_ctl(set, libc::EPOLL_CTL_DEL, fd, std::ptr::null_mut()) };
    }
    // Its other end is not told of an end: the connection goes on.
    place.set_state(State::Kernel);
    for Socket { fd, .. } in process::sockets().filter(|other| other.number == socket.number) {
        // SAFETY: the command takes no argument.
        let flags = unsafe { real::fcntl(fd, libc::F_GETFD, 0) };
        let flags = if flags & libc::FD_CLOEXEC == 0 { 0 } else { libc::O_CLOEXEC };
        // SAFETY: the first descriptor is this library's, and the second the program's, which goes on with it.
        unsafe { real::dup3(new.0, fd, flags) };
    }
    if let Some((set, fd, mut event)) = registered {
        // SAFETY: the event lives until the call returns.
        unsafe { real::epoll_ctl(set, libc::EPOLL_CTL_ADD, fd, &raw mut event) };
    }
}
