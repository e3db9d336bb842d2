//! The memory that buffers lie in, and the contract with its owner.

use super::Fate;
use std::ptr::NonNull;

/// The functions with which an owner of buffer memory counts the windows into it.
///
/// A `static` of this type also identifies the owner: a datapath recognises its own buffers by its address.
#[derive(Debug)]
pub struct Vtable {
    /// Adds one to the count of windows. A count near its limit aborts the process: safe code can forget
    /// windows without number, and a count that wraps would free memory in use.
    pub share: unsafe fn(storage: NonNull<Storage>),
    /// Subtracts one from the count of windows, and takes the memory back after the last window.
    pub release: unsafe fn(storage: NonNull<Storage>),
    /// Works as `release`, and states the fate of the window's part of the message. `None` if the owner delivers no
    /// message again; with it, a window that is released without a fate was dropped
    /// ([`Fate::Dropped`]).
    pub settle: Option<unsafe fn(storage: NonNull<Storage>, fate: Fate)>,
}

/// A piece of memory for buffers. Its owner keeps this struct for as long as there are windows into the
/// memory: beside the memory, or anywhere else (for DPDK, in the mbuf's private area).
/// The owner finds its own data by the address of this struct, for instance as the first field of a `#[repr(C)]` struct.
#[derive(Debug)]
pub struct Storage {
    /// The first byte.
    pub memory: NonNull<u8>,
    /// The number of bytes, below 128 MiB.
    pub len: u32,
    /// The owner's functions.
    pub vtable: &'static Vtable,
}

/// The parts of a [`Buf`](crate::Buf), for datapaths with memory of their own (a DPDK mbuf, a ring).
///
/// # Safety
/// A `Buf` may be made of it if
/// * `storage` points to a [`Storage`] that is not written to, and whose `len` bytes from `memory` on are valid and
///   initialised, until `vtable.release` was called once for this window and once for every `share`;
/// * `start + len + tailroom` is at most the storage's length, and `headroom` at most `start`;
/// * nothing but this window reads or writes the `headroom + len + tailroom` bytes around the message, until
///   `vtable.release` is called for it;
/// * `vtable.share`, `vtable.release` and `vtable.settle` may be called from any thread, with `storage` as argument; a call
///   of `settle` counts as a call of `release`.
#[derive(Debug, Clone, Copy)]
pub struct RawBuf {
    /// The memory around the message.
    pub storage: NonNull<Storage>,
    /// The place of the message's first byte in the storage.
    pub start: usize,
    /// The length of the message.
    pub len: usize,
    /// The number of bytes in front of the message that belong to this window.
    pub headroom: usize,
    /// The number of bytes behind the message that belong to this window.
    pub tailroom: usize,
}
