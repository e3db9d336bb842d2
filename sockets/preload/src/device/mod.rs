//! Sockets that the daemon carries by a stack of Bertha.
//!
//! The carrier, one end of a pair of Unix sockets, takes the place of the program's TCP socket when it connects, and a queue takes the place
//! of a listener: what [`device`](bertha_sockets_machine::device) says of them holds. The kernel does the rest, as these are sockets of
//! its own, in children and other programs, too. What is left are the differences to TCP: addresses, options, the reason of a failure, and
//! a cut, which is not an end.
//!
//! A device carries sockets of datagrams, too, and their messages have a head on the carrier:
//! [`datagrams`](bertha_sockets_machine::datagrams).

mod accept;
mod addresses;
mod ask;
mod call;
mod connect;
mod datagrams;
mod messages;
mod options;

pub(crate) use accept::accept;
pub(crate) use ask::set_alike;
pub(crate) use call::{call, is_fast_open, shutting};
pub(crate) use connect::connect;
pub(crate) use datagrams::{begin, bind, datagrams, shut};
pub(crate) use messages::{Sender, is_cut, receive, send, unread};
pub(crate) use options::{read as read_option, set as set_option};
