//! Visits to the daemon: a message with descriptors, and its answer.

use crate::{kernel, real, settings};
use libc::{c_int, c_void, iovec};
use std::mem::MaybeUninit;
use std::ptr::from_mut;

/// Room for two descriptors beside a message.
#[repr(C, align(8))]
struct Beside([u8; 24]);

/// The bytes before the descriptors.
const HEAD: usize = 16;

/// A descriptor that is closed when this is dropped.
pub(crate) struct Own(pub(crate) c_int);

impl Own {
    /// Returns the descriptor, which is closed no more.
    pub(crate) fn keep(self) -> c_int {
        std::mem::ManuallyDrop::new(self).0
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this library's.
        unsafe { real::close(self.0) };
    }
}

/// Connects to the daemon, by a socket of these flags.
pub(crate) fn daemon(flags: c_int) -> Option<Own> {
    let path = settings::daemon()?.to_bytes_with_nul();
    // SAFETY: zeros are an address without a name.
    let mut address: libc::sockaddr_un = unsafe { MaybeUninit::zeroed().assume_init() };
    address.sun_family = libc::AF_UNIX as u16;
    let room = address.sun_path.get_mut(..path.len())?;
    room.iter_mut().zip(path).for_each(|(to, from)| *to = from.cast_signed());
    // SAFETY: the call takes numbers.
    let fd = unsafe { real::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC | flags, 0) };
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
pub(crate) fn wait(fd: c_int, events: libc::c_short, milliseconds: c_int) -> c_int {
    let mut asked = libc::pollfd { fd, events, revents: 0 };
    // SAFETY: there is one entry.
    unsafe { real::poll(from_mut(&mut asked), 1, milliseconds) }
}

/// Returns the part of memory that has these bytes.
pub(crate) fn part(bytes: &[u8]) -> iovec {
    iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() }
}

/// Sends parts with one descriptor, or two. Returns what `sendmsg` does.
pub(crate) fn send_with(to: c_int, parts: &[iovec], fds: &[c_int], flags: c_int) -> isize {
    let mut beside = Beside([0; 24]);
    let (head, room) = beside.0.split_at_mut(HEAD);
    head[..8].copy_from_slice(&(HEAD + 4 * fds.len()).to_ne_bytes());
    head[8..12].copy_from_slice(&libc::SOL_SOCKET.to_ne_bytes());
    head[12..].copy_from_slice(&libc::SCM_RIGHTS.to_ne_bytes());
    room.chunks_exact_mut(4).zip(fds).for_each(|(to, fd)| to.copy_from_slice(&fd.to_ne_bytes()));
    let mut header = kernel::header(parts);
    header.msg_control = from_mut(&mut beside).cast();
    header.msg_controllen = 24;
    // SAFETY: the header has memory of this function and of its caller.
    unsafe { real::sendmsg(to, &raw const header, libc::MSG_NOSIGNAL | flags) }
}

/// Receives a message, with the descriptor that came with it. Returns what `recvmsg` does.
pub(crate) fn hear(from: c_int, bytes: &mut [u8], flags: c_int) -> (isize, Option<Own>) {
    let parts = [iovec { iov_base: bytes.as_mut_ptr().cast::<c_void>(), iov_len: bytes.len() }];
    let mut beside = Beside([0; 24]);
    let mut header = kernel::header(&parts);
    header.msg_control = from_mut(&mut beside).cast();
    header.msg_controllen = 24;
    // SAFETY: the header has memory of this function and of its caller.
    let read = unsafe { real::recvmsg(from, &raw mut header, flags) };
    let has_file = read >= 0 && header.msg_controllen >= 20;
    let file = beside.0[HEAD..20].try_into().map(c_int::from_ne_bytes);
    (read, file.ok().filter(|_| has_file).map(Own))
}
