//! The segmentation and coalescing of the kernel.

use super::run::SEGMENTS;
use quinn_udp::{UdpSockRef, UdpSocketState};
use rustix::io::Errno;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::OnceLock;

/// Whether the kernel, the card or the path refused a datagram because it was segmented.
pub(super) fn segmentation_failed(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::INVAL | Errno::IO | Errno::MSGSIZE))
}

/// The offloads of the kernel, found out once.
///
/// The same for all sockets. It is made on a socket of its own, since making it also sets options that ours are to be
/// without: don't-fragment, which would limit messages to the path's MTU, and time stamps and addresses with each
/// datagram, which cost time and are not used.
pub(super) struct Offload {
    pub(super) state: UdpSocketState,
    /// How many messages it takes as one datagram; 1 if it can't cut them up.
    pub(super) segments: usize,
}

pub(super) fn offload() -> io::Result<&'static Offload> {
    static OFFLOAD: OnceLock<Offload> = OnceLock::new();
    if let Some(offload) = OFFLOAD.get() {
        return Ok(offload);
    }
    let socket = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
        .or_else(|_| std::net::UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)))?;
    let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
    let segments = match state.max_gso_segments() {
        segments @ 2.. if takes(&socket, SEGMENTS) => segments.max(SEGMENTS),
        segments => segments,
    };
    Ok(OFFLOAD.get_or_init(|| Offload { state, segments: segments.min(SEGMENTS) }))
}

/// Whether the kernel takes so many messages at once, tried out with messages from `socket` to itself. No option tells.
fn takes(socket: &std::net::UdpSocket, segments: usize) -> bool {
    let sent = || {
        nix::sys::socket::setsockopt(socket, nix::sys::socket::sockopt::UdpGsoSegment, &1)?;
        socket.send_to(&[0; SEGMENTS][..segments], socket.local_addr()?)
    };
    sent().is_ok()
}
