//! Safe bindings to Caladan: the only module of this crate with `unsafe`.
//!
//! # Why futures are safe on green threads
//!
//! Caladan preempts a green thread by a signal, at any instruction, and lets it go on in another kernel
//! thread. Code that has the address of a thread-local variable in a register would go on with the variable
//! of another thread; so would the allocator, and a mutex of the kernel thread that holds it could be waited
//! for by the very next green thread on it. Therefore Rust's code runs with preemption disabled, without
//! exception: the [start](green_thread) of a green thread disables it before the first line of Rust,
//! callbacks come with it disabled, and it is enabled only in [`Parker::park`](parker::Parker::park) and in
//! the functions that [block](tcp_socket), around a single call of C each.
//!
//! Between two polls a task may move to another kernel thread, as on any executor of several threads, which
//! is why tasks have to be `Send`. But unlike on such executors, the function that polls goes on in the new
//! thread. So a frame that lives across [`Parker::park`](parker::Parker::park) must not touch a thread-local
//! variable, whose address the compiler may keep from before: polls, and the drops of futures, are calls of
//! functions that are never inlined into such a frame, [`isolated`](green_thread::isolated).

mod alarm;
mod events;
mod green_thread;
pub(crate) mod inbox;
mod open;
mod parker;
mod scheduler;
mod start;
mod tcp_queue;
mod tcp_socket;
mod udp_socket;

pub(crate) use alarm::Alarm;
pub(crate) use events::Events;
pub(crate) use green_thread::{Work, isolated, spawn};
pub(crate) use open::sockets;
pub(crate) use parker::Parker;
pub(crate) use scheduler::Scheduler;
pub(crate) use start::{set_log_level, set_window, start};
pub(crate) use tcp_queue::TcpQueue;
pub(crate) use tcp_socket::TcpSocket;
pub(crate) use udp_socket::UdpSocket;

use bertha_caladan_sys as sys;
use std::io;
use std::net::SocketAddrV4;

/// Returns true if the calling thread belongs to the runtime. No other thread may call Caladan.
#[inline]
pub(crate) fn on_caladan() -> bool {
    // SAFETY: the function reads a variable of the calling thread.
    unsafe { sys::bertha_caladan_on_caladan() }
}

/// Fails on threads outside of the runtime. Sockets call this function first, since any thread may own a
/// socket.
#[inline]
pub(crate) fn check_thread() -> io::Result<()> {
    if on_caladan() { Ok(()) } else { Err(elsewhere()) }
}

#[cold]
fn elsewhere() -> io::Error {
    let what = "called outside of Caladan's runtime: start the program with `bertha::run` or `#[bertha::main]`, and its tasks with the \
                runtime of the datapath rather than tokio's";
    io::Error::new(io::ErrorKind::Unsupported, what)
}

/// Converts the result of a function that returns 0 or a negative errno.
fn check(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(()) }
}

/// Converts the result of a function that returns a length or a negative errno.
#[inline]
fn check_length(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| errno(result))
}

#[cold]
fn errno(result: isize) -> io::Error {
    /// The shim's `EOPNOTSUPP`: Caladan has no such error.
    const ELSEWHERE: isize = -95;
    if result == ELSEWHERE { elsewhere() } else { io::Error::from_raw_os_error(result.unsigned_abs() as i32) }
}

/// Returns an address that a function of C filled in.
fn filled(fill: impl FnOnce(*mut u32, *mut u16)) -> SocketAddrV4 {
    let mut ip = 0_u32;
    let mut port = 0_u16;
    fill(&mut ip, &mut port);
    SocketAddrV4::new(ip.into(), port)
}
