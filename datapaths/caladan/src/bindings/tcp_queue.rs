//! TCP connections that wait to be accepted.

use super::events::CALLBACKS;
use super::{Events, TcpSocket, check, check_thread, filled, inbox, open};
use bertha_caladan_sys as sys;
use std::ffi::c_void;
use std::io;
use std::net::SocketAddrV4;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// A queue of TCP connections to accept. Its calls fail outside of the runtime; any thread may drop it.
#[derive(Debug)]
pub(crate) struct TcpQueue {
    queue: NonNull<sys::TcpQueue>,
    /// The events of the queue, whose address Caladan has.
    events: Arc<Events>,
}

// SAFETY: Caladan's queues may be used by any number of its threads at once; every function here but `drop`
// fails on other threads.
unsafe impl Send for TcpQueue {}
// SAFETY: as above.
unsafe impl Sync for TcpQueue {}

impl TcpQueue {
    /// Listens at an address, at which port 0 stands for any port. Peers beyond the backlog get no answer.
    pub(crate) fn listen(on: SocketAddrV4, backlog: u32) -> io::Result<Self> {
        check_thread()?;
        let mut queue = ptr::null_mut();
        let backlog = i32::try_from(backlog).unwrap_or(i32::MAX);
        // SAFETY: this is a thread of the runtime, and `queue` is written if the result is 0.
        check(unsafe { sys::bertha_caladan_tcp_listen((*on.ip()).into(), on.port(), backlog, &mut queue) })?;
        let queue = NonNull::new(queue).ok_or_else(|| io::Error::other("Caladan made no queue"))?;
        let events = Arc::<Events>::default();
        let [begun, ended] = CALLBACKS;
        // SAFETY: the events live until `close` has taken the callbacks off.
        unsafe { sys::bertha_caladan_tcp_queue_notify(queue.as_ptr(), begun, ended, events.data()) };
        open::count();
        Ok(Self { queue, events })
    }

    pub(crate) fn events(&self) -> &Events {
        &self.events
    }

    pub(crate) fn local(&self) -> SocketAddrV4 {
        // SAFETY: the address of a queue is fixed, so any thread may read it; both places are written.
        filled(|ip, port| unsafe { sys::bertha_caladan_tcp_queue_local(self.queue.as_ptr(), ip, port) })
    }

    /// Returns the next connection, or [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none.
    pub(crate) fn accept(&self) -> io::Result<TcpSocket> {
        check_thread()?;
        let mut socket = ptr::null_mut();
        // SAFETY: this is a thread of the runtime, and `socket` is written if the result is 0.
        check(unsafe { sys::bertha_caladan_tcp_accept(self.queue.as_ptr(), &mut socket) })?;
        TcpSocket::new(socket)
    }
}

/// The first function of a green thread that closes a queue, and the connections in it.
unsafe extern "C" fn close(argument: *mut c_void) {
    // SAFETY: this is a green thread, with preemption enabled, and the queue has no other owner.
    unsafe { sys::bertha_caladan_tcp_queue_close(argument.cast()) };
    open::uncount();
}

/// The rest of a queue that was dropped.
struct Closing(NonNull<sys::TcpQueue>, Arc<Events>);

// SAFETY: as for the queue.
unsafe impl Send for Closing {}

impl Closing {
    fn close(self) {
        let Self(queue, events) = self;
        // SAFETY: this is a thread of the runtime. The callbacks are removed under the lock under which they
        // are called.
        unsafe { sys::bertha_caladan_tcp_queue_notify(queue.as_ptr(), None, None, 0) };
        drop(events);
        // SAFETY: `close` takes the queue, which has no other owner.
        if let Err(error) = check(unsafe { sys::bertha_caladan_thread_spawn(close, queue.as_ptr().cast()) }) {
            tracing::error!(%error, "a TCP listener is never closed, since there is no green thread for it");
        }
    }
}

impl Drop for TcpQueue {
    fn drop(&mut self) {
        let closing = Closing(self.queue, self.events.clone());
        inbox::on_caladan(move || closing.close());
    }
}
