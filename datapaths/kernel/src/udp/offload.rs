//! Segmentation and coalescing by the kernel.

use super::gso_batch::SEGMENTS;
use quinn_udp::{UdpSockRef, UdpSocketState};
use rustix::io::Errno;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::OnceLock;

/// Returns true if the kernel, the card or the path refused a datagram because of segmentation.
pub(super) fn segmentation_failed(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::INVAL | Errno::IO | Errno::MSGSIZE))
}

/// The offloads of the kernel, detected when they are first needed.
///
/// All sockets share the result. A separate socket serves for the detection, since it also sets options that
/// Bertha's sockets must not have: don't-fragment, which would limit messages to the path's MTU, and time
/// stamps and addresses with each datagram, which cost time and are not used.
pub(super) struct Offload {
    pub(super) state: UdpSocketState,
    /// Maximum number of messages that the kernel takes as a segmented datagram, or 1 without segmentation.
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

/// Returns true if the kernel takes `segments` messages at once, which no option tells: `socket` sends
/// messages to itself.
fn takes(socket: &std::net::UdpSocket, segments: usize) -> bool {
    let sent = || {
        nix::sys::socket::setsockopt(socket, nix::sys::socket::sockopt::UdpGsoSegment, &1)?;
        socket.send_to(&[0; SEGMENTS][..segments], socket.local_addr()?)
    };
    sent().is_ok()
}
