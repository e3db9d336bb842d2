//! TCP connections.

use super::events::CALLBACKS;
use super::{Events, check, check_length, check_thread, filled, inbox, open};
use bertha_caladan_sys as sys;
use std::ffi::c_void;
use std::io::{self, IoSlice};
use std::net::SocketAddrV4;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// A TCP connection. Its calls fail outside of the runtime; any thread may drop it.
#[derive(Debug)]
pub(crate) struct TcpSocket {
    socket: NonNull<sys::TcpSocket>,
    /// The events of the socket, whose address Caladan has.
    events: Arc<Events>,
}

// SAFETY: Caladan's sockets may be used by any number of its threads at once; every function here but `drop`
// fails on other threads.
unsafe impl Send for TcpSocket {}
// SAFETY: as above.
unsafe impl Sync for TcpSocket {}

/// `EINPROGRESS`.
const IN_PROGRESS: i32 = 115;

impl TcpSocket {
    /// Begins to connect.
    pub(crate) fn dial(peer: SocketAddrV4) -> io::Result<Self> {
        check_thread()?;
        let mut socket = ptr::null_mut();
        // SAFETY: this is a thread of the runtime, and `socket` is written if the result is 0.
        check(unsafe { sys::bertha_caladan_tcp_dial((*peer.ip()).into(), peer.port(), &mut socket) })?;
        Self::new(socket)
    }

    pub(super) fn new(socket: *mut sys::TcpSocket) -> io::Result<Self> {
        let socket = NonNull::new(socket).ok_or_else(|| io::Error::other("Caladan made no connection"))?;
        let events = Arc::<Events>::default();
        let [begun, ended] = CALLBACKS;
        // SAFETY: the events live until `close` has taken the callbacks off.
        unsafe { sys::bertha_caladan_tcp_notify(socket.as_ptr(), begun, ended, events.data()) };
        open::count();
        Ok(Self { socket, events })
    }

    pub(crate) fn events(&self) -> &Events {
        &self.events
    }

    /// Returns the addresses of this end and of the peer.
    pub(crate) fn addresses(&self) -> [SocketAddrV4; 2] {
        let mut peer = SocketAddrV4::new([0; 4].into(), 0);
        let local = filled(|ip, port| {
            peer = filled(|peer_ip, peer_port| {
                // SAFETY: both addresses are fixed, so any thread may read them; all four places are written.
                unsafe {
                    sys::bertha_caladan_tcp_addresses(self.socket.as_ptr(), ip, port, peer_ip, peer_port)
                }
            });
        });
        [local, peer]
    }

    /// Returns `Ok` if the connection is established, and [`WouldBlock`](io::ErrorKind::WouldBlock) if this
    /// is not decided yet.
    pub(crate) fn established(&self) -> io::Result<()> {
        check_thread()?;
        // SAFETY: this is a thread of the runtime.
        match check(unsafe { sys::bertha_caladan_tcp_status(self.socket.as_ptr()) }) {
            Err(error) if error.raw_os_error() == Some(IN_PROGRESS) => Err(io::ErrorKind::WouldBlock.into()),
            decided => decided,
        }
    }

    /// Reads bytes, and returns 0 at the end of the stream. If the last segment of the stream is longer than
    /// the memory, the rest is lost, so the memory must hold as much as the [window](super::set_window).
    pub(crate) fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        check_thread()?;
        // SAFETY: this is a thread of the runtime, and `into` has as many bytes.
        check_length(unsafe {
            sys::bertha_caladan_tcp_read(self.socket.as_ptr(), into.as_mut_ptr(), into.len())
        })
    }

    /// Writes the first bytes. At most one call may run at a time.
    pub(crate) fn write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        check_thread()?;
        let count = i32::try_from(parts.len()).unwrap_or(i32::MAX);
        // SAFETY: this is a thread of the runtime, and `parts` has `count` slices, each laid out as
        // `struct iovec` by std's promise.
        check_length(unsafe {
            sys::bertha_caladan_tcp_write(self.socket.as_ptr(), parts.as_ptr().cast(), count)
        })
    }

    /// Ends the stream to the peer, soon: a green thread does so, since it may have to wait for a repetition
    /// under way.
    pub(crate) fn shut_down(self: &Arc<Self>) -> io::Result<()> {
        check_thread()?;
        let argument = Arc::into_raw(self.clone());
        // SAFETY: `shut_down` takes what `argument` is, and the thread is the only one to get it.
        let result =
            check(unsafe { sys::bertha_caladan_thread_spawn(shut_down, argument.cast_mut().cast()) });
        if result.is_err() {
            // SAFETY: no thread was started, so the count still belongs to this call.
            drop(unsafe { Arc::from_raw(argument) });
        }
        result
    }
}

/// The first function of a green thread that ends a stream.
unsafe extern "C" fn shut_down(argument: *mut c_void) {
    let socket: *const TcpSocket = argument.cast_const().cast();
    // SAFETY: the count of the argument keeps the value alive. The line reads a field, with preemption
    // enabled: no thread-local variable is touched.
    let inner = unsafe { (*socket).socket };
    // SAFETY: this is a green thread, with preemption enabled.
    unsafe { sys::bertha_caladan_tcp_shutdown(inner.as_ptr()) };
    // SAFETY: this is a green thread.
    unsafe { sys::bertha_caladan_preempt_disable() };
    // SAFETY: `TcpSocket::shut_down` made the pointer of a count, for this thread alone.
    super::isolated(|| drop(unsafe { Arc::from_raw(socket) }));
    // SAFETY: preemption was disabled above.
    unsafe { sys::bertha_caladan_preempt_enable() };
}

/// The first function of a green thread that closes a connection, which may have to wait for a repetition under way.
unsafe extern "C" fn close(argument: *mut c_void) {
    // SAFETY: this is a green thread, with preemption enabled, and the socket has no other owner.
    unsafe { sys::bertha_caladan_tcp_close(argument.cast()) };
    open::uncount();
}

/// The rest of a connection that was dropped.
struct Closing(NonNull<sys::TcpSocket>, Arc<Events>);

// SAFETY: as for the socket.
unsafe impl Send for Closing {}

impl Closing {
    fn close(self) {
        let Self(socket, events) = self;
        // SAFETY: this is a thread of the runtime. The callbacks are removed under the lock under which they
        // are called.
        unsafe { sys::bertha_caladan_tcp_notify(socket.as_ptr(), None, None, 0) };
        drop(events);
        // SAFETY: `close` takes the socket, which has no other owner.
        if let Err(error) = check(unsafe { sys::bertha_caladan_thread_spawn(close, socket.as_ptr().cast()) })
        {
            tracing::error!(%error, "a TCP connection is never closed, since there is no green thread for it");
        }
    }
}

impl Drop for TcpSocket {
    fn drop(&mut self) {
        let closing = Closing(self.socket, self.events.clone());
        inbox::on_caladan(move || closing.close());
    }
}
