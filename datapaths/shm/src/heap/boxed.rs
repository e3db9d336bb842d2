//! A single value in a heap.
#![allow(unsafe_code)]

use super::layout::assert_fits;
use super::send::Release;
use super::span::pointer;
use super::{Full, Heap};
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::num::NonZero;
use std::ops::{Deref, DerefMut};
use std::ptr;

/// A value in a heap: eight bytes, the value's address. `Option<Box<T>>` is as large, and zero without a value.
#[repr(transparent)]
pub struct Box<T> {
    /// Address of a block of the value's size, which this box owns, in a heap that it holds.
    address: NonZero<u64>,
    value: PhantomData<T>,
}

impl<T> Box<T> {
    /// Moves a value into a heap.
    ///
    /// # Panics
    /// Panics if the heap has no room.
    #[track_caller]
    pub fn new_in(value: T, heap: &Heap) -> Self {
        match Self::try_new_in(value, heap) {
            Ok(boxed) => boxed,
            Err(full) => full.panic(),
        }
    }

    /// Moves a value into a heap.
    ///
    /// # Errors
    /// Fails if the heap has no room; then the value is dropped.
    pub fn try_new_in(value: T, heap: &Heap) -> Result<Self, Full> {
        const { assert_fits::<T>() };
        let address = heap.allocate(size_of::<T>())?;
        heap.hold();
        // SAFETY: the block is new, large enough, and aligned to 16 bytes, which is enough for the type.
        unsafe { pointer::<T>(address.get()).write(value) };
        Ok(Self { address, value: PhantomData })
    }

    /// Moves the value out of the heap.
    pub fn into_inner(boxed: Self) -> T {
        let boxed = ManuallyDrop::new(boxed);
        // SAFETY: the box owns the value, and is not dropped, so the value is moved once.
        let value = unsafe { boxed.pointer().read() };
        // SAFETY: the box holds the heap and owns the block, whose value has left; it is not used any more.
        drop(unsafe { boxed.release() });
        value
    }

    /// Returns the address of the value, by which a daemon finds it.
    pub fn as_ptr(boxed: &Self) -> *const T {
        boxed.pointer()
    }

    #[inline]
    fn pointer(&self) -> *mut T {
        pointer(self.address.get())
    }

    /// Ends the box when the result is dropped.
    ///
    /// # Safety
    /// The box is not used any more then, and its value is gone.
    unsafe fn release(&self) -> Release {
        // SAFETY: the box holds the heap and owns the block; the rest is the caller's promise.
        unsafe { Release::of(self.address.get(), size_of::<T>()) }
    }
}

impl<T> Deref for Box<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the value lies there while the box does, and is borrowed as the box is. The daemon only reads it; or wrote it before it
        // lent it, if this box lies in a received message.
        unsafe { &*self.pointer() }
    }
}

impl<T> DerefMut for Box<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the value lies there while the box does, and is borrowed as the box is. No `&mut` leads to a box of a received message,
        // so this process made the box, and no other process writes to the value.
        unsafe { &mut *self.pointer() }
    }
}

impl<T> Drop for Box<T> {
    fn drop(&mut self) {
        // SAFETY: the result is dropped at the end of this function, behind the value.
        let _release = unsafe { self.release() };
        // SAFETY: the box owns the value, which is not used any more.
        unsafe { ptr::drop_in_place(self.pointer()) };
    }
}

impl<T: fmt::Debug> fmt::Debug for Box<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: PartialEq> PartialEq for Box<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Box<T> {}
