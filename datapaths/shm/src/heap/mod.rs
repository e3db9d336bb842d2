//! Heaps for typed messages that an application and the daemon of its machine share.
//!
//! ```text
//!        application                                        daemon
//!
//!   send heap:    Heap ── Vec, String, Box ──▶ regions ──▶ Foreign     copies what it reads
//!
//!   receive heap: Received ◀──────────────── regions ◀── Lent        writes a Message, and lends it
//! ```
//!
//! A daemon grants memory in [regions](Region): files in memory of fixed size, whose descriptors the two pass on by means of their own. The
//! regions of a heap lie behind one another in a range of the application's addresses, so an address becomes an offset by a subtraction.
//! Messages hold addresses of the application, as an ordinary structure does.
//!
//! # Trust
//!
//! The application trusts the daemon, which is a part of the system. The daemon trusts no application:
//!
//! * What a send heap holds may change at any time, and be anything. [`Foreign`] checks each address, reads each byte once, by atomics, and
//!   gives out copies.
//! * The bookkeeping of each heap is private memory of the process that allocates in it: an application that overwrites its own heap
//!   confuses nobody else.
//! * A receive heap is written by the daemon alone; the kernel refuses the application's writes. So the daemon writes it in place, and the
//!   application reads it in place. [`Received`] tells why this is sound.
//! * Identifiers of messages that come back are checked by [`Lent`].
//! * All memory counts against a quota, at both ends.
//!
//! # Layout
//!
//! [`Vec`] and [`String`] are 16 bytes: address, length, capacity. [`Box`] is an address, and `Option<Box<T>>` is zero without a value.
//! Their names and methods are those of the standard library.

mod arena;
mod boxed;
mod foreign;
mod full;
mod layout;
mod ledger;
mod lent;
mod received;
mod region;
mod send;
mod slab;
mod span;
mod string;
#[cfg(test)]
mod tests;
mod vec;

pub use boxed::Box;
pub use foreign::{Foreign, Outside};
pub use full::Full;
pub use lent::{Lent, Message};
pub use received::Received;
pub use region::Region;
pub use send::{Heap, Source};
pub use string::String;
pub use vec::Vec;
