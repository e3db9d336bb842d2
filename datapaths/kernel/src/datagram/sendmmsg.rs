//! Several datagrams in one system call.

use crate::window::WINDOW;
use rustix::net::addr::SocketAddrArg;
use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags};
use std::io::{self, IoSlice};
use std::os::fd::AsFd;

/// Sends the first messages, up to [`WINDOW`], to `to`, or to the connected peer if `to` is absent. Returns
/// the number of messages that the kernel took, which is at least one.
pub(crate) fn sendmmsg<'a>(
    socket: impl AsFd,
    messages: impl Iterator<Item = &'a [u8]>,
    to: Option<&impl SocketAddrArg>,
) -> io::Result<usize> {
    let to = to.map(SocketAddrArg::as_any);
    let mut slices = [[IoSlice::new(&[])]; WINDOW];
    let mut count = 0;
    for (slice, message) in slices.iter_mut().zip(messages) {
        *slice = [IoSlice::new(message)];
        count += 1;
    }
    let mut controls = [(); WINDOW].map(|()| SendAncillaryBuffer::default());
    let mut slices = slices.iter();
    let mut headers = controls.each_mut().map(|control| {
        let slice = slices.next().map_or(&[][..], |slice| slice);
        match &to {
            Some(to) => MMsgHdr::new_with_addr(to, slice, control),
            None => MMsgHdr::new(slice, control),
        }
    });
    Ok(rustix::net::sendmmsg(socket, &mut headers[..count], SendFlags::empty())?)
}
