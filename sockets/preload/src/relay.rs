//! A socket whose bytes lie in a ring, and whose other end does not send them again: the daemon puts another socket in its place, and
//! carries the bytes between the two.

use crate::place::State;
use crate::process::{self, Socket};
use crate::receive::receive;
use crate::visit::{Own, daemon, hear, part, send_with, wait};
use crate::{device, errno, evict, kernel, life, memory, real, reset, watch};
use bertha_sockets_machine::device::{REPLY, Reply};
use bertha_sockets_machine::protocol::{CUT, RELAY};
use libc::c_int;
use std::sync::atomic::Ordering;

/// The time that the daemon has, in milliseconds.
const PATIENCE: c_int = 3000;

/// Does as [`take_place`], while this process goes on: a thread may be in the midst of a call, which would go on with the old socket.
pub(crate) fn take_place_meanwhile(socket: Socket) -> bool {
    kernel::has_one_thread() && take_place(socket)
}

/// Puts another socket in the place of one that this process alone has, at each of its descriptors. Returns false if there is no daemon
/// that carries the bytes.
pub(crate) fn take_place(socket: Socket) -> bool {
    let kept = errno::last();
    let is_taken = socket.is_ours_alone() && evict::sever(socket) && ask(socket).is_some();
    errno::set(kept);
    is_taken
}

fn ask(socket: Socket) -> Option<()> {
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
    let told = put_unread(socket, unread.0).map(u64::to_le_bytes);
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
        swap(socket, new);
    } else {
        reset::reset(socket);
    }
    Some(())
}

/// Writes what the program has not read into the file. Returns the number of bytes, with [`CUT`], once all that comes then comes by the kernel.
fn put_unread(socket: Socket, file: c_int) -> Option<u64> {
    let mut all = 0;
    let mut bytes = [0_u8; 16 << 10];
    while !evict::is_home(socket) {
        let got = receive(socket, &[part(&bytes)], libc::MSG_DONTWAIT)?;
        let got = usize::try_from(got).ok().filter(|got| *got > 0)?;
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
fn swap(socket: Socket, new: Own) {
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
    let registered = watch::take_out(socket.number);
    if let Some((set, fd, _)) = registered {
        // SAFETY: no event is needed to remove a descriptor.
        unsafe { real::epoll_ctl(set, libc::EPOLL_CTL_DEL, fd, std::ptr::null_mut()) };
    }
    // Its other end is not told of an end: the connection goes on.
    place.set_state(State::Kernel);
    for Socket { fd, .. } in process::sockets().filter(|other| other.number == socket.number) {
        // SAFETY: the command takes no argument.
        let flags = unsafe { real::fcntl(fd, libc::F_GETFD, 0) };
        life::forget_socket(fd);
        let flags = if flags & libc::FD_CLOEXEC == 0 { 0 } else { libc::O_CLOEXEC };
        // SAFETY: the first descriptor is this library's, and the second the program's, which goes on with it.
        unsafe { real::dup3(new.0, fd, flags) };
    }
    if let Some((set, fd, mut event)) = registered {
        // SAFETY: the event lives until the call returns.
        unsafe { real::epoll_ctl(set, libc::EPOLL_CTL_ADD, fd, &raw mut event) };
    }
}
