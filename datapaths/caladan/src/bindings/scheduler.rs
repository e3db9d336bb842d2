//! The check that the scheduler still runs.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SocketAddrUnix, getpeername};
use std::fs::read_dir;
use std::os::fd::BorrowedFd;

/// The socket at which Caladan's scheduler listens.
const SOCKET: &[u8] = b"/run/iokernel.sock";

/// The scheduler, as the peer of the socket over which the runtime has introduced itself. Without the
/// scheduler the runtime stands still, and does not know why.
#[derive(Debug)]
pub(crate) struct Scheduler(BorrowedFd<'static>);

impl Scheduler {
    /// Returns the scheduler of the runtime, which runs; `None` if the runtime keeps no socket.
    pub(crate) fn find() -> Option<Self> {
        let open = read_dir("/proc/self/fd").ok()?;
        open.flatten().find_map(|entry| {
            let number = entry.file_name().to_str()?.parse().ok()?;
            // SAFETY: the descriptor was open a moment ago. Whatever it has become since, it is only asked
            // for its peer; and the descriptor that is kept is the runtime's, which never closes it.
            let socket = unsafe { BorrowedFd::borrow_raw(number) };
            let peer = SocketAddrUnix::try_from(getpeername(socket).ok()??).ok()?;
            (peer.path_bytes() == Some(SOCKET)).then_some(Self(socket))
        })
    }

    pub(crate) fn is_gone(&self) -> bool {
        let mut socket = [PollFd::new(&self.0, PollFlags::empty())];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut socket, Some(&at_once)).is_ok() && socket[0].revents().contains(PollFlags::HUP)
    }
}
