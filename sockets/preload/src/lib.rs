//! The calls of libc for sockets, which `LD_PRELOAD` puts before libc's own: a TCP connection whose other end runs with them too
//! goes through memory that the two processes share, as far as [`bertha_sockets_machine`] says.
//!
//! The descriptor is always the kernel's socket. A call for a descriptor that is not tracked costs one look at a table (`process`) and
//! goes to libc. A tracked socket has a place (`place`) in memory that a process shares with its forked children, and nobody else. Once it has
//! carried enough, it joins (`join`) its other end; from then on `receive` and `transmit` move its bytes. Whatever is not emulated
//! moves the stream back (`evict`).
//!
//! The library has no thread, and allocates nothing once it is set up. A signal handler that writes in the middle of a write
//! leaves its bytes with the write that it interrupted.
//!
//! The whole crate is a C interface: what it is given are pointers of a program, which have to be what POSIX says of them.

#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![allow(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used)]

mod actions;
mod anonymous;
mod births;
mod calls;
mod carried;
mod controls;
mod copies;
mod device;
mod doorbell;
mod errno;
mod evict;
mod handover;
mod inheritance;
mod join;
mod kernel;
mod life;
mod lock;
mod look;
mod memory;
mod number_path;
mod parts;
mod place;
mod process;
mod quiet;
mod ready;
mod real;
mod receive;
mod registration;
mod relay;
mod reset;
mod settings;
mod spin;
mod step;
mod take;
mod time;
mod transmit;
mod uring;
mod visit;
mod waiting;
mod watch;
