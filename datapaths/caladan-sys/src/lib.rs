//! The few functions of [Caladan](https://github.com/shenango/caladan) that Bertha's datapath calls, by a shim in C.
//!
//! Caladan's structures are opaque here. No function here is safe to call as it stands;
//! `bertha-datapath-caladan` provides a safe interface. Only kernel threads of the runtime may call the
//! functions, except for [`bertha_caladan_start`] and [`bertha_caladan_on_caladan`], and for [`bertha_caladan_udp_receive`] and
//! [`bertha_caladan_udp_send`], which fail on other threads.
//!
//! Where the build found no Caladan, [`AVAILABLE`] is false, and every function fails or finds nothing.

use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};

#[cfg(not(caladan))]
mod absent;
#[cfg(caladan)]
mod present;

#[cfg(not(caladan))]
pub use absent::*;
#[cfg(caladan)]
pub use present::*;

/// True if the build found a Caladan to link.
pub const AVAILABLE: bool = cfg!(caladan);

/// A UDP socket: `udpconn_t`.
#[repr(C)]
#[derive(Debug)]
pub struct UdpSocket {
    _opaque: [u8; 0],
}

/// A TCP connection: `tcpconn_t`.
#[repr(C)]
#[derive(Debug)]
pub struct TcpSocket {
    _opaque: [u8; 0],
}

/// A queue of TCP connections to accept: `tcpqueue_t`.
#[repr(C)]
#[derive(Debug)]
pub struct TcpQueue {
    _opaque: [u8; 0],
}

/// The first function of a green thread, with its argument.
pub type Entry = unsafe extern "C" fn(*mut c_void);

/// Callback of a timer, with its argument; preemption is disabled.
pub type OnTimer = unsafe extern "C" fn(c_ulong);

/// Callback of a socket, with its data and the events that have begun or ended, as of `poll(2)`; preemption
/// is disabled, and the socket's lock is held.
pub type OnEvents = unsafe extern "C" fn(c_ulong, c_uint);

/// Declares the functions once, for both the real functions and their stand-ins.
macro_rules! with_functions {
    ($then:ident) => {
        $then! {
            /// Calls `runtime_init`, which starts the runtime, with the calling thread as its first kernel
            /// thread. It returns only if the start fails, and a process may call it once.
            fn bertha_caladan_start(config: *const c_char, entry: Entry, argument: *mut c_void) -> c_int;
            /// Returns true if the calling thread is a kernel thread of the runtime.
            fn bertha_caladan_on_caladan() -> bool;
            /// Sets `max_loglevel`, up to which Caladan's messages are written to the standard output: from 0
            /// (emergencies) to 5.
            fn bertha_caladan_set_log_level(level: c_int) -> ();
            /// Calls `tcp_set_default_window`, which bounds the received bytes that wait on each connection
            /// that begins later.
            fn bertha_caladan_set_window(bytes: u32) -> ();
            /// Calls `preempt_disable`, which can be nested.
            fn bertha_caladan_preempt_disable() -> ();
            /// Calls `preempt_enable`.
            fn bertha_caladan_preempt_enable() -> ();
            /// Calls `thread_self`, which returns null if a kernel thread runs no green thread.
            fn bertha_caladan_thread_self() -> *mut c_void;
            /// Calls `thread_spawn`.
            fn bertha_caladan_thread_spawn(entry: Entry, argument: *mut c_void) -> c_int;
            /// Calls `thread_ready` for a parked thread.
            fn bertha_caladan_thread_ready(thread: *mut c_void) -> ();
            /// Calls `thread_park_and_preempt_enable`. Preemption must be disabled once, and is enabled
            /// afterwards.
            fn bertha_caladan_thread_park() -> ();
            /// Calls `thread_yield`. Preemption must be enabled.
            fn bertha_caladan_thread_yield() -> ();
            /// Calls `microtime`, which returns the microseconds since the start of the runtime.
            fn bertha_caladan_microtime() -> u64;
            /// Returns a new timer, or null. The timer is never freed.
            fn bertha_caladan_timer_new(run: OnTimer, argument: c_ulong) -> *mut c_void;
            /// Calls `timer_start` for a timer that is not armed. The deadline is a time of
            /// [`microtime`](bertha_caladan_microtime).
            fn bertha_caladan_timer_start(timer: *mut c_void, deadline: u64) -> ();
            /// Calls `timer_cancel`. Afterwards the timer does not run, and is not armed.
            fn bertha_caladan_timer_cancel(timer: *mut c_void) -> bool;
            /// Calls `udp_dial`; port 0 stands for any port.
            fn bertha_caladan_udp_dial(
                ip: u32, port: u16, peer_ip: u32, peer_port: u16, out: *mut *mut UdpSocket
            ) -> c_int;
            /// Calls `udp_listen`; port 0 stands for any port.
            fn bertha_caladan_udp_listen(ip: u32, port: u16, out: *mut *mut UdpSocket) -> c_int;
            /// Calls `udp_read_from2` without blocking.
            fn bertha_caladan_udp_read(
                socket: *mut UdpSocket, into: *mut u8, len: usize, ip: *mut u32, port: *mut u16
            ) -> isize;
            /// Reads as [`bertha_caladan_udp_read`], without the source. Returns `-EOPNOTSUPP` on threads outside of
            /// the runtime.
            fn bertha_caladan_udp_receive(socket: *mut UdpSocket, into: *mut u8, len: usize) -> isize;
            /// Calls `udp_write_to2` to the peer without blocking. Returns `-EOPNOTSUPP` on threads outside
            /// of the runtime.
            fn bertha_caladan_udp_send(socket: *mut UdpSocket, message: *const u8, len: usize) -> isize;
            /// Calls `udp_shutdown`, which a socket allows once: later calls fail or read nothing, and the
            /// socket's addresses are free.
            fn bertha_caladan_udp_shutdown(socket: *mut UdpSocket) -> ();
            /// Calls `udp_local_addr`.
            fn bertha_caladan_udp_local(socket: *mut UdpSocket, ip: *mut u32, port: *mut u16) -> ();
            /// Calls `udp_poll_install_cb` with the callback for events that begin and the callback for
            /// events that end.
            fn bertha_caladan_udp_notify(
                socket: *mut UdpSocket, set: Option<OnEvents>, clear: Option<OnEvents>, data: c_ulong
            ) -> ();
            /// Calls `udp_get_payload_size`.
            fn bertha_caladan_udp_payload() -> c_uint;
            /// Calls `udp_close`. The caller must be the last owner of the socket.
            fn bertha_caladan_udp_close(socket: *mut UdpSocket) -> ();
            /// Calls `tcp_dial` without waiting for the peer.
            fn bertha_caladan_tcp_dial(peer_ip: u32, peer_port: u16, out: *mut *mut TcpSocket) -> c_int;
            /// Calls `tcp_get_status`, which returns 0 while the connection can send, and `-EINPROGRESS`
            /// before.
            fn bertha_caladan_tcp_status(socket: *mut TcpSocket) -> c_int;
            /// Calls `tcp_read2` without blocking.
            fn bertha_caladan_tcp_read(socket: *mut TcpSocket, into: *mut u8, len: usize) -> isize;
            /// Calls `tcp_writev2` for an array of `struct iovec` without blocking.
            fn bertha_caladan_tcp_write(
                socket: *mut TcpSocket, parts: *const c_void, count: c_int
            ) -> isize;
            /// Calls `tcp_shutdown` for the sending half. The call blocks: preemption must be enabled.
            fn bertha_caladan_tcp_shutdown(socket: *mut TcpSocket) -> c_int;
            /// Calls `tcp_close`. The caller must be the last owner of the socket. The call blocks:
            /// preemption must be enabled.
            fn bertha_caladan_tcp_close(socket: *mut TcpSocket) -> ();
            /// Calls `tcp_local_addr` and `tcp_remote_addr`.
            fn bertha_caladan_tcp_addresses(
                socket: *mut TcpSocket, ip: *mut u32, port: *mut u16, peer_ip: *mut u32, peer_port: *mut u16
            ) -> ();
            /// Calls `tcp_poll_install_cb`.
            fn bertha_caladan_tcp_notify(
                socket: *mut TcpSocket, set: Option<OnEvents>, clear: Option<OnEvents>, data: c_ulong
            ) -> ();
            /// Calls `tcp_listen`; port 0 stands for any port.
            fn bertha_caladan_tcp_listen(
                ip: u32, port: u16, backlog: c_int, out: *mut *mut TcpQueue
            ) -> c_int;
            /// Calls `tcp_accept` without blocking.
            fn bertha_caladan_tcp_accept(queue: *mut TcpQueue, out: *mut *mut TcpSocket) -> c_int;
            /// Calls `tcpq_local_addr`.
            fn bertha_caladan_tcp_queue_local(queue: *mut TcpQueue, ip: *mut u32, port: *mut u16) -> ();
            /// Calls `tcpq_poll_install_cb`.
            fn bertha_caladan_tcp_queue_notify(
                queue: *mut TcpQueue, set: Option<OnEvents>, clear: Option<OnEvents>, data: c_ulong
            ) -> ();
            /// Calls `tcp_qclose`, which also closes the connections in the queue. The caller must be the
            /// last owner of the queue. The call blocks: preemption must be enabled.
            fn bertha_caladan_tcp_queue_close(queue: *mut TcpQueue) -> ();
        }
    };
}
use with_functions;
