//! The calls of libc that this library puts its own before.

mod data;
mod descriptors;
mod epoll;
mod files;
mod jumps;
#[cfg(target_arch = "x86_64")]
mod lists;
mod poll;
mod programs;
mod select;
mod sockets;
mod stream;
mod syscall;
