//! The few functions of [Caladan](https://github.com/shenango/caladan) that Bertha's datapath calls, by a shim in C.
//!
//! Caladan's structures are opaque here. Nothing here is safe to call as it stands; `bertha-datapath-caladan` is. Except for
//! [`bertha_start`] and [`bertha_on_caladan`], and [`bertha_udp_receive`] and [`bertha_udp_send`], which fail elsewhere, the functions may be
//! called by kernel threads of the runtime alone.
//!
//! Where the build found no Caladan, [`AVAILABLE`] is false, and every function answers that there is nothing.

use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};

#[cfg(not(caladan))]
mod absent;
#[cfg(caladan)]
mod present;

#[cfg(not(caladan))]
pub use absent::*;
#[cfg(caladan)]
pub use present::*;

/// Whether the build found a Caladan to link.
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

/// Called with the argument of a timer, or with the data of a socket and the events that have begun or ended, as of `poll(2)`; with preemption
/// disabled.
pub type OnTimer = unsafe extern "C" fn(c_ulong);

/// As [`OnTimer`], for sockets; the socket's lock is held.
pub type OnEvents = unsafe extern "C" fn(c_ulong, c_uint);

/// Declares the functions once, for both the real ones and those that stand in for them.
macro_rules! with_functions {
    ($then:ident) => {
        $then! {
            /// `runtime_init`: starts the runtime, with the calling thread as its first kernel thread. Returns only if that fails. Once per
            /// process.
            fn bertha_start(config: *const c_char, entry: Entry, argument: *mut c_void) -> c_int;
            /// Whether the calling thread is a kernel thread of the runtime.
            fn bertha_on_caladan() -> bool;
            /// `max_loglevel`: up to which level Caladan's messages are written to the standard output, from 0 (emergencies) to 5.
            fn bertha_set_log_level(level: c_int) -> ();
            /// `tcp_set_default_window`: how many received bytes of a connection wait at most, for connections that begin later.
            fn bertha_set_window(bytes: u32) -> ();
            /// `preempt_disable`; can be nested.
            fn bertha_preempt_disable() -> ();
            /// `preempt_enable`.
            fn bertha_preempt_enable() -> ();
            /// `thread_self`; null if a kernel thread runs no green one.
            fn bertha_thread_self() -> *mut c_void;
            /// `thread_spawn`.
            fn bertha_thread_spawn(entry: Entry, argument: *mut c_void) -> c_int;
            /// `thread_ready`, of a thread that is parked.
            fn bertha_thread_ready(thread: *mut c_void) -> ();
            /// `thread_park_and_preempt_enable`, with preemption disabled once; enables it.
            fn bertha_thread_park() -> ();
            /// `thread_yield`, with preemption enabled.
            fn bertha_thread_yield() -> ();
            /// `microtime`: microseconds since the runtime has started.
            fn bertha_microtime() -> u64;
            /// A new timer, or null; it is never freed.
            fn bertha_timer_new(run: OnTimer, argument: c_ulong) -> *mut c_void;
            /// `timer_start`, of a timer that is not armed, until a [`microtime`](bertha_microtime).
            fn bertha_timer_start(timer: *mut c_void, deadline: u64) -> ();
            /// `timer_cancel`: afterwards it does not run, and is not armed.
            fn bertha_timer_cancel(timer: *mut c_void) -> bool;
            /// `udp_dial`; port 0 stands for any.
            fn bertha_udp_dial(
                ip: u32, port: u16, peer_ip: u32, peer_port: u16, out: *mut *mut UdpSocket
            ) -> c_int;
            /// `udp_listen`; port 0 stands for any.
            fn bertha_udp_listen(ip: u32, port: u16, out: *mut *mut UdpSocket) -> c_int;
            /// `udp_read_from2`, which does not block.
            fn bertha_udp_read(
                socket: *mut UdpSocket, into: *mut u8, len: usize, ip: *mut u32, port: *mut u16
            ) -> isize;
            /// As [`bertha_udp_read`], without the source; `-EOPNOTSUPP` on other threads than the runtime's.
            fn bertha_udp_receive(socket: *mut UdpSocket, into: *mut u8, len: usize) -> isize;
            /// `udp_write_to2` to the peer, which does not block; `-EOPNOTSUPP` on other threads than the runtime's.
            fn bertha_udp_send(socket: *mut UdpSocket, message: *const u8, len: usize) -> isize;
            /// `udp_shutdown`, once: later calls fail or read nothing, and its addresses are free.
            fn bertha_udp_shutdown(socket: *mut UdpSocket) -> ();
            /// `udp_local_addr`.
            fn bertha_udp_local(socket: *mut UdpSocket, ip: *mut u32, port: *mut u16) -> ();
            /// `udp_poll_install_cb`: the one for events that begin, and the one for those that end.
            fn bertha_udp_notify(
                socket: *mut UdpSocket, set: Option<OnEvents>, clear: Option<OnEvents>, data: c_ulong
            ) -> ();
            /// `udp_get_payload_size`.
            fn bertha_udp_payload() -> c_uint;
            /// `udp_close`, by the last owner of the socket.
            fn bertha_udp_close(socket: *mut UdpSocket) -> ();
            /// `tcp_dial`, which does not wait for the peer.
            fn bertha_tcp_dial(peer_ip: u32, peer_port: u16, out: *mut *mut TcpSocket) -> c_int;
            /// `tcp_get_status`: 0 while it can send, `-EINPROGRESS` before.
            fn bertha_tcp_status(socket: *mut TcpSocket) -> c_int;
            /// `tcp_read2`, which does not block.
            fn bertha_tcp_read(socket: *mut TcpSocket, into: *mut u8, len: usize) -> isize;
            /// `tcp_writev2` of so many `struct iovec`, which does not block.
            fn bertha_tcp_write(
                socket: *mut TcpSocket, parts: *const c_void, count: c_int
            ) -> isize;
            /// `tcp_shutdown` of the sending half. Blocks: preemption has to be enabled.
            fn bertha_tcp_shutdown(socket: *mut TcpSocket) -> c_int;
            /// `tcp_close`, by the last owner of the socket. Blocks: preemption has to be enabled.
            fn bertha_tcp_close(socket: *mut TcpSocket) -> ();
            /// `tcp_local_addr` and `tcp_remote_addr`.
            fn bertha_tcp_addresses(
                socket: *mut TcpSocket, ip: *mut u32, port: *mut u16, peer_ip: *mut u32, peer_port: *mut u16
            ) -> ();
            /// `tcp_poll_install_cb`.
            fn bertha_tcp_notify(
                socket: *mut TcpSocket, set: Option<OnEvents>, clear: Option<OnEvents>, data: c_ulong
            ) -> ();
            /// `tcp_listen`; port 0 stands for any.
            fn bertha_tcp_listen(
                ip: u32, port: u16, backlog: c_int, out: *mut *mut TcpQueue
            ) -> c_int;
            /// `tcp_accept`, which does not block.
            fn bertha_tcp_accept(queue: *mut TcpQueue, out: *mut *mut TcpSocket) -> c_int;
            /// `tcpq_local_addr`.
            fn bertha_tcp_queue_local(queue: *mut TcpQueue, ip: *mut u32, port: *mut u16) -> ();
            /// `tcpq_poll_install_cb`.
            fn bertha_tcp_queue_notify(
                queue: *mut TcpQueue, set: Option<OnEvents>, clear: Option<OnEvents>, data: c_ulong
            ) -> ();
            /// `tcp_qclose`, by the last owner of the queue; closes the connections in it. Blocks: preemption has to be enabled.
            fn bertha_tcp_queue_close(queue: *mut TcpQueue) -> ();
        }
    };
}
use with_functions;
