//! Several datagrams in one system call.

use crate::window::{WINDOW, Window};
use rustix::net::addr::SocketAddrArg;
use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags};
use std::array::from_fn;
use std::io::{self, IoSlice};
use std::os::fd::AsFd;

/// Sends up to the first `count` messages, to `to` or where the socket is connected to, and returns how many the kernel
/// took: at least one.
pub(crate) fn sendmmsg(
    socket: impl AsFd,
    burst: &Window,
    count: usize,
    to: Option<&impl SocketAddrArg>,
) -> io::Result<usize> {
    let mut messages = burst.iter().take(count);
    let to = to.map(SocketAddrArg::as_any);
    let slices: [_; WINDOW] = from_fn(|_| [IoSlice::new(messages.next().map_or(&[], |message| message))]);
    let mut controls = [(); WINDOW].map(|()| SendAncillaryBuffer::default());
    let mut slices = slices.iter();
    let mut headers = controls.each_mut().map(|control| {
        let slice = slices.next().map_or(&[][..], |slice| slice);
        match &to {
            Some(to) => MMsgHdr::new_with_addr(to, slice, control),
            None => MMsgHdr::new(slice, control),
        }
    });
    Ok(rustix::net::sendmmsg(socket, &mut headers[..count.min(WINDOW)], SendFlags::empty())?)
}
