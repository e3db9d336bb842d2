//! The calls of libc that this library puts its own before.

mod data;
mod descriptors;
mod epoll;
mod poll;
mod programs;
mod select;
mod sockets;
