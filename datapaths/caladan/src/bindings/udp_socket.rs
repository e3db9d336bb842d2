//! UDP sockets.

use super::events::CALLBACKS;
use super::{Events, check, check_length, check_thread, filled, inbox, open};
use bertha_caladan_sys as sys;
use std::io;
use std::net::SocketAddrV4;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A UDP socket. Its calls fail outside of the runtime; any thread may drop it.
#[derive(Debug)]
pub(crate) struct UdpSocket {
    socket: NonNull<sys::UdpSocket>,
    /// The events of the socket, whose address Caladan has.
    events: Arc<Events>,
    is_shut: AtomicBool,
}

// SAFETY: Caladan's sockets may be used by any number of its threads at once; every function here but `drop`
// fails on other threads.
unsafe impl Send for UdpSocket {}
// SAFETY: as above.
unsafe impl Sync for UdpSocket {}

impl UdpSocket {
    /// Opens a socket that receives what peers without a socket of their own send to an address.
    pub(crate) fn listen(on: SocketAddrV4) -> io::Result<Self> {
        check_thread()?;
        let mut socket = ptr::null_mut();
        // SAFETY: this is a thread of the runtime, and `socket` is written if the result is 0.
        check(unsafe { sys::bertha_caladan_udp_listen((*on.ip()).into(), on.port(), &mut socket) })?;
        Self::new(socket, Arc::default())
    }

    /// Opens a socket for two addresses. Port 0 stands for any port, and the address 0.0.0.0 for the address
    /// by which the peer is reached.
    pub(crate) fn dial(local: SocketAddrV4, peer: SocketAddrV4, events: Arc<Events>) -> io::Result<Self> {
        check_thread()?;
        let mut socket = ptr::null_mut();
        let ip = (*local.ip()).into();
        let to = (*peer.ip()).into();
        // SAFETY: this is a thread of the runtime, and `socket` is written if the result is 0.
        check(unsafe { sys::bertha_caladan_udp_dial(ip, local.port(), to, peer.port(), &mut socket) })?;
        Self::new(socket, events)
    }

    fn new(socket: *mut sys::UdpSocket, events: Arc<Events>) -> io::Result<Self> {
        let socket = NonNull::new(socket).ok_or_else(|| io::Error::other("Caladan made no socket"))?;
        let [begun, ended] = CALLBACKS;
        // SAFETY: the events live until `close` has taken the callbacks off.
        unsafe { sys::bertha_caladan_udp_notify(socket.as_ptr(), begun, ended, events.data()) };
        open::count();
        Ok(Self { socket, events, is_shut: AtomicBool::new(false) })
    }

    #[inline]
    pub(crate) fn events(&self) -> &Arc<Events> {
        &self.events
    }

    pub(crate) fn local(&self) -> SocketAddrV4 {
        // SAFETY: the address of a socket is fixed, so any thread may read it; both places are written.
        filled(|ip, port| unsafe { sys::bertha_caladan_udp_local(self.socket.as_ptr(), ip, port) })
    }

    /// Reads the next datagram, and returns its length and its source. Bytes that do not fit are cut off.
    /// Returns [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no datagram.
    pub(crate) fn read(&self, into: &mut [u8]) -> io::Result<(usize, SocketAddrV4)> {
        check_thread()?;
        let mut result = 0;
        let from = filled(|ip, port| {
            // SAFETY: this is a thread of the runtime, `into` has as many bytes, and both places are written.
            result = unsafe {
                sys::bertha_caladan_udp_read(self.socket.as_ptr(), into.as_mut_ptr(), into.len(), ip, port)
            };
        });
        Ok((check_length(result)?, from))
    }

    /// Reads the next datagram as [`read`](Self::read), and returns only its length. The result is also 0
    /// once the socket was [shut](Self::shut_down).
    #[inline]
    pub(crate) fn receive(&self, into: &mut [u8]) -> io::Result<usize> {
        // SAFETY: the function fails on threads outside of the runtime, and `into` has as many bytes.
        check_length(unsafe {
            sys::bertha_caladan_udp_receive(self.socket.as_ptr(), into.as_mut_ptr(), into.len())
        })
    }

    /// Sends a datagram to the peer. Returns [`WouldBlock`](io::ErrorKind::WouldBlock) if too many are on
    /// their way to the scheduler.
    #[inline]
    pub(crate) fn send(&self, message: &[u8]) -> io::Result<()> {
        // SAFETY: the function fails on threads outside of the runtime, and `message` has as many bytes.
        let result =
            unsafe { sys::bertha_caladan_udp_send(self.socket.as_ptr(), message.as_ptr(), message.len()) };
        check_length(result).map(drop)
    }

    /// Ends the socket for all its users, and frees its addresses.
    pub(crate) fn shut_down(&self) -> io::Result<()> {
        check_thread()?;
        if !self.is_shut.swap(true, Ordering::Relaxed) {
            // SAFETY: this is a thread of the runtime, and no other call shut the socket: Caladan ends the
            // process at the second shutdown.
            unsafe { sys::bertha_caladan_udp_shutdown(self.socket.as_ptr()) };
        }
        Ok(())
    }

    /// Returns the length of the longest datagram in bytes.
    pub(crate) fn longest() -> usize {
        // SAFETY: the function reads a number that is fixed once the runtime has started.
        unsafe { sys::bertha_caladan_udp_payload() as usize }
    }
}

/// The rest of a socket that was dropped.
struct Closing(NonNull<sys::UdpSocket>, Arc<Events>);

// SAFETY: as for the socket.
unsafe impl Send for Closing {}

impl Closing {
    fn close(self) {
        let Self(socket, events) = self;
        // SAFETY: this is a thread of the runtime, and the socket has no other owner. The callbacks are
        // removed under the lock under which they are called.
        unsafe { sys::bertha_caladan_udp_notify(socket.as_ptr(), None, None, 0) };
        // SAFETY: as above. No green thread blocks in the socket.
        unsafe { sys::bertha_caladan_udp_close(socket.as_ptr()) };
        open::uncount();
        drop(events);
    }
}

impl Drop for UdpSocket {
    fn drop(&mut self) {
        let closing = Closing(self.socket, self.events.clone());
        inbox::on_caladan(move || closing.close());
    }
}
