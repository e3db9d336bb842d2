//! Sending datagrams: one by one, or a burst in a call.

use super::control::Control;
use super::gso_batch::GsoBatch;
use super::offload::segmentation_failed;
use super::remote::Remote;
use super::socket::UdpSocket;
use crate::datagram::sendmmsg;
use rustix::net::SendFlags;
use socket2::{MsgHdr, SockAddr, SockRef};
use std::io::{self, IoSlice};
use std::sync::atomic::Ordering;

impl UdpSocket {
    /// Sends a message by a single call.
    #[inline]
    pub(super) fn send_message(&self, message: &[u8], to: &Remote) -> io::Result<()> {
        let sent = self.sending(|| match to.to() {
            None => Ok(rustix::net::send(&self.io, message, SendFlags::empty())?),
            Some(_) if Self::goes_singly(to) => self.send_singly(message, to),
            Some(to) => Ok(rustix::net::sendto(&self.io, message, SendFlags::empty(), to)?),
        });
        sent.map(drop)
    }

    /// Sends as many messages of a batch as one call takes, and removes the sent messages.
    pub(super) fn send_batch(&self, batch: &mut GsoBatch, to: &Remote) -> io::Result<()> {
        if to.segments()
            && let Some(segment) = batch.segment()
        {
            let run = batch.run(segment, self.segments);
            let sent = self.sending(|| self.send_datagram(&run, Some(segment), to)).map(|_| run.len());
            drop(run);
            match sent {
                Err(error) if segmentation_failed(&error) => {
                    tracing::debug!(%error, to = %to.peer, "no segmentation on this path");
                    to.never_segment();
                }
                sent => {
                    batch.run_has_left(segment, sent?);
                    return Ok(());
                }
            }
        }
        let sent = match batch.messages() {
            [] => 0,
            [first, rest @ ..] if rest.is_empty() || Self::goes_singly(to) => {
                self.send_message(first, to).map(|()| 1)?
            }
            messages => {
                let messages = messages.iter().map(|message| &**message);
                self.sending(|| sendmmsg(&self.io, messages.clone(), to.to()))?
            }
        };
        batch.first_have_left(sent);
        Ok(())
    }

    /// Sends a message that may be marked on a socket that has further peers, or that leaves from the address
    /// to which its peer has sent.
    #[cold]
    fn send_singly(&self, message: &[u8], to: &Remote) -> io::Result<usize> {
        self.send_datagram(&[IoSlice::new(message)], None, to)
    }

    /// Sends a datagram that the kernel gathers from `parts`, and cuts into segments of `segment` bytes.
    fn send_datagram(&self, parts: &[IoSlice<'_>], segment: Option<u16>, to: &Remote) -> io::Result<usize> {
        let control = Control::new(to, segment);
        let peer = to.to().map(|peer| SockAddr::from(*peer));
        let header = MsgHdr::new().with_buffers(parts).with_control(control.bytes());
        let header = match &peer {
            Some(peer) => header.with_addr(peer),
            None => header,
        };
        SockRef::from(&self.io).sendmsg(&header, 0)
    }

    /// Returns true if the kernel has to be told more of a datagram to this peer than its destination, so
    /// that `sendmmsg` does not do.
    #[inline]
    fn goes_singly(to: &Remote) -> bool {
        to.to().is_some() && (to.ecn().is_some() || to.source.is_some())
    }

    /// Sends by `send`. If the send buffer is full, enlarges it to its wanted size and tries again.
    #[inline]
    fn sending<T>(&self, mut send: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        match send() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && self.enlarge() => send(),
            sent => sent,
        }
    }

    #[cold]
    fn enlarge(&self) -> bool {
        let wanted = self.send_buffer.swap(0, Ordering::Relaxed);
        // The system may grant less without an error.
        wanted > 0 && SockRef::from(&self.io).set_send_buffer_size(wanted).is_ok()
    }
}
