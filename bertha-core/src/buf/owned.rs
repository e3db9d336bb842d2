//! Buffers over memory that belongs to a value of any type.

use super::Fate;
use super::storage::{RawBuf, Storage, Vtable};
use super::window::MAX_STORAGE;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// A storage and the owner of its memory, which lies inside the owner or elsewhere.
#[repr(C)]
struct Owned<T> {
    /// First field, so that its address is the address of the whole struct.
    storage: Storage,
    /// The number of windows into the storage.
    windows: AtomicU32,
    /// The worst [`Fate`] of the windows that have ended, as a number, if the owner learns it.
    fate: AtomicU8,
    /// The owner of the bytes. It is not touched before the last window ends, since the windows' bytes may
    /// lie in it.
    owner: T,
}

/// Maximum number of windows, as for the references of an `Arc`: the process is aborted beyond it.
const MAX_WINDOWS: u32 = i32::MAX as u32;

impl<T: AsMut<[u8]> + Send + 'static> Owned<T> {
    const PLAIN: &'static Vtable = &Vtable { share: share::<T>, release: release::<T>, settle: None };
}

impl<T: AsMut<[u8]> + Send + 'static, S: FnOnce(T, Fate) + Send + 'static> Owned<Settled<T, S>> {
    const RECEIPT: &'static Vtable = &Vtable {
        share: share::<Settled<T, S>>,
        release: release_unsettled::<T, S>,
        settle: Some(settle::<T, S>),
    };
}

/// An owner, and the function that gets it at the end with the fate of the bytes.
struct Settled<T, S> {
    owner: T,
    settle: S,
}

impl<T: AsMut<[u8]>, S> AsMut<[u8]> for Settled<T, S> {
    fn as_mut(&mut self) -> &mut [u8] {
        self.owner.as_mut()
    }
}

/// The only window into the memory of an owner, which is counted.
pub(super) struct Taken(RawBuf);

impl Taken {
    pub(super) fn into_raw(self) -> RawBuf {
        self.0
    }
}

/// Returns the only window into the memory of `owner`, which is dropped with the last window.
///
/// # Errors
/// The owner, if it has more bytes than a buffer can hold.
pub(super) fn take<T: AsMut<[u8]> + Send + 'static>(owner: T) -> Result<Taken, T> {
    take_with(owner, Owned::<T>::PLAIN)
}

/// Returns the only window into the memory of `owner`, which goes to `settle` with the last window.
///
/// # Errors
/// The owner, if it has more bytes than a buffer can hold.
pub(super) fn take_receipt<T, S>(owner: T, settle: S) -> Result<Taken, T>
where
    T: AsMut<[u8]> + Send + 'static,
    S: FnOnce(T, Fate) + Send + 'static,
{
    take_with(Settled { owner, settle }, Owned::<Settled<T, S>>::RECEIPT).map_err(|settled| settled.owner)
}

/// The functions of `vtable` are for an `Owned<T>`.
fn take_with<T: AsMut<[u8]> + Send + 'static>(owner: T, vtable: &'static Vtable) -> Result<Taken, T> {
    let storage = Storage { memory: NonNull::dangling(), len: 0, vtable };
    let owned = Box::new(Owned { storage, windows: AtomicU32::new(1), fate: AtomicU8::new(0), owner });
    // The owner is at its final place before it says where its bytes are. If `as_mut` panics, the owner is
    // leaked.
    let owned = Box::into_raw(owned);
    // SAFETY: the box is ours, and nothing else points to it.
    let owner = unsafe { &mut (*owned).owner };
    let bytes = owner.as_mut();
    let len = bytes.len();
    if len > MAX_STORAGE {
        // SAFETY: it came from a box, and the reference to its owner is not used any more.
        return Err(unsafe { Box::from_raw(owned) }.owner);
    }
    let memory = NonNull::from(bytes).cast();
    // SAFETY: a pointer from a box is not null.
    let storage = unsafe { NonNull::new_unchecked(owned) }.cast::<Storage>();
    // SAFETY: the box is ours, and the storage is its first field, which has no destructor.
    unsafe { storage.write(Storage { memory, len: len as u32, vtable }) };
    Ok(Taken(RawBuf { storage, start: 0, len, headroom: 0, tailroom: 0 }))
}

/// # Safety
/// `storage` belongs to an `Owned<T>` with at least one window, which lives as long as the reference is used.
unsafe fn windows<'a, T>(storage: NonNull<Storage>) -> &'a AtomicU32 {
    let owned = storage.cast::<Owned<T>>().as_ptr();
    // SAFETY: `storage` is the first field of a `repr(C)` struct, so it has the struct's address; the caller promises that it
    // lives. The reference is to the count alone, so that it does not touch bytes in the owner.
    unsafe { &(*owned).windows }
}

/// # Safety
/// `storage` belongs to an `Owned<T>` with at least one window, which lives until the call returns.
unsafe fn share<T>(storage: NonNull<Storage>) {
    // SAFETY: the caller's promise.
    let windows = unsafe { windows::<T>(storage) };
    // Relaxed as in `Arc::clone`: the new window is made from an existing one.
    if windows.fetch_add(1, Ordering::Relaxed) > MAX_WINDOWS {
        std::process::abort();
    }
}

/// # Safety
/// `storage` belongs to an `Owned<T>` with at least one window, which is the caller's and not used
/// afterwards.
unsafe fn release<T>(storage: NonNull<Storage>) {
    // SAFETY: the caller's window is counted, so it lives.
    let windows = unsafe { windows::<T>(storage) };
    // All that other threads did with their windows happens before the owner is dropped.
    if windows.fetch_sub(1, Ordering::AcqRel) == 1 {
        // SAFETY: all windows are gone, and `take` made it from a box.
        drop(unsafe { Box::from_raw(storage.cast::<Owned<T>>().as_ptr()) });
    }
}

/// # Safety
/// The conditions of [`release`].
unsafe fn release_unsettled<T, S: FnOnce(T, Fate)>(storage: NonNull<Storage>) {
    // SAFETY: the caller's promise.
    unsafe { settle::<T, S>(storage, Fate::Dropped) };
}

/// # Safety
/// The conditions of [`release`], for an owner that is [`Settled`].
unsafe fn settle<T, S: FnOnce(T, Fate)>(storage: NonNull<Storage>, fate: Fate) {
    let owned = storage.cast::<Owned<Settled<T, S>>>().as_ptr();
    // SAFETY: as in `windows`; the caller's window is counted, so the struct lives.
    let fates = unsafe { &(*owned).fate };
    // The last window reads the fates of the windows that ended before, by the order of the count below.
    fates.fetch_max(fate as u8, Ordering::Relaxed);
    // SAFETY: the caller's window is counted, so it lives.
    let windows = unsafe { windows::<Settled<T, S>>(storage) };
    // All that other threads did with their windows happens before the owner is settled.
    if windows.fetch_sub(1, Ordering::AcqRel) == 1 {
        // SAFETY: all windows are gone, and `take_with` made it from a box.
        let owned = *unsafe { Box::from_raw(owned) };
        let Settled { owner, settle } = owned.owner;
        settle(owner, Fate::of_number(owned.fate.into_inner()));
    }
}

/// Sets the count of windows to its maximum, as if windows had been forgotten.
///
/// # Safety
/// `storage` belongs to an `Owned<T>` with at least one window.
#[cfg(test)]
pub(super) unsafe fn forget_up_to_the_limit<T>(storage: NonNull<Storage>) {
    // SAFETY: the caller's promise; a storage with a window lives.
    unsafe { windows::<T>(storage) }.store(MAX_WINDOWS, Ordering::Relaxed);
}
