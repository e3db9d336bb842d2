//! Values in a row in a heap.
//!
//! A vector has no handle of its heap: it finds the heap by its address, masked. So a vector without elements has the heap's base as its
//! address. Only a method that takes `&mut self`, and the drop, look for the heap. Neither is ever called for the vectors of a received
//! message, which have no heap to grow in: their owner is the daemon, and [`Received`](super::Received) lends them as `&`, through which
//! safe code reaches no `&mut` and moves nothing out. This is also why there is no `Clone`, which would look for a heap by `&`.
#![allow(unsafe_code)]

mod many;
#[cfg(test)]
mod tests;
mod traits;

use super::layout::assert_fits;
use super::send::Release;
use super::span::pointer;
use super::{Full, Heap};
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::{ptr, slice};

/// Number of elements for which a vector takes room at first.
const LEAST: u32 = 4;

/// A growing row of values in a heap. It lies in memory as 16 bytes: the address of the elements, their number, and the number of elements
/// for which there is room.
#[repr(C)]
pub struct Vec<T> {
    /// Address of a block for `capacity` elements, which this vector owns, in a heap that it holds; or the heap's base, without a capacity.
    /// A received message may have zero, without elements.
    address: u64,
    len: u32,
    capacity: u32,
    elements: PhantomData<T>,
}

impl<T> Vec<T> {
    /// Creates an empty vector. It takes no room.
    pub fn new_in(heap: &Heap) -> Self {
        const { assert_fits::<T>() };
        heap.hold();
        Self { address: heap.base(), len: 0, capacity: 0, elements: PhantomData }
    }

    /// Creates an empty vector with room for so many elements.
    ///
    /// # Panics
    /// Panics if the heap has no room.
    #[track_caller]
    pub fn with_capacity_in(capacity: usize, heap: &Heap) -> Self {
        let mut new = Self::new_in(heap);
        let made = u32::try_from(capacity).map_err(|_| Full).and_then(|capacity| new.move_to(capacity));
        match made {
            Ok(()) => new,
            Err(full) => full.panic(),
        }
    }

    /// Returns the number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns true if there are no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of elements for which there is room.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.capacity as usize
    }

    /// Returns the elements.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: the first `len` elements lie there while the vector does, and are borrowed as the vector is. The daemon only reads them;
        // or wrote them before it lent them, if the vector lies in a received message.
        unsafe { slice::from_raw_parts(pointer(self.address), self.len()) }
    }

    /// Returns the elements, to be changed.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        let len = self.len();
        let elements = &raw mut self.slots()[..len];
        // SAFETY: the first `len` slots have values, and are borrowed as the vector is.
        unsafe { &mut *(elements as *mut [T]) }
    }

    /// Appends an element.
    ///
    /// # Panics
    /// Panics if the heap has no room.
    #[inline]
    #[track_caller]
    pub fn push(&mut self, element: T) {
        if self.len == self.capacity {
            self.reserve(1);
        }
        let place = self.len();
        self.slots()[place].write(element);
        self.len += 1;
    }

    /// Removes the last element, and returns it.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        let place = self.len();
        // SAFETY: the slot has a value, which does not belong to the vector since its length became smaller.
        Some(unsafe { self.slots()[place].assume_init_read() })
    }

    /// Inserts an element before the element at an index.
    ///
    /// # Panics
    /// Panics if the index is larger than the length, or if the heap has no room.
    #[track_caller]
    pub fn insert(&mut self, index: usize, element: T) {
        assert!(index <= self.len(), "there is no place {index} among {} elements", self.len);
        self.push(element);
        self[index..].rotate_right(1);
    }

    /// Removes the element at an index, and returns it. The elements behind it move up.
    ///
    /// # Panics
    /// Panics if there is no such element.
    #[track_caller]
    pub fn remove(&mut self, index: usize) -> T {
        self[index..].rotate_left(1);
        self.pop().unwrap_or_else(|| unreachable!("the element is the last one"))
    }

    /// Removes the element at an index, and returns it. The last element takes its place.
    ///
    /// # Panics
    /// Panics if there is no such element.
    #[track_caller]
    pub fn swap_remove(&mut self, index: usize) -> T {
        assert!(index < self.len(), "there is no element {index} among {}", self.len);
        let last = self.len() - 1;
        self.swap(index, last);
        self.pop().unwrap_or_else(|| unreachable!("the element is the last one"))
    }

    /// Drops all elements. The room stays.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Drops all elements but the first `len`. The room stays.
    pub fn truncate(&mut self, len: usize) {
        if len >= self.len() {
            return;
        }
        let dropped = &raw mut self.as_mut_slice()[len..];
        // A drop that panics leaks the elements behind, and drops none twice.
        self.len = len as u32;
        // SAFETY: the elements have values, and do not belong to the vector since its length became smaller.
        unsafe { ptr::drop_in_place(dropped) };
    }

    /// Makes room for so many elements more.
    ///
    /// # Panics
    /// Panics if the heap has no room.
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        if let Err(full) = self.try_reserve(additional) {
            full.panic();
        }
    }

    /// Makes room for so many elements more.
    ///
    /// # Errors
    /// Fails if the heap has no room, or if there would be more than `u32::MAX` elements. The vector stays as it is.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), Full> {
        let needed = self.len().checked_add(additional).ok_or(Full)?;
        if needed <= self.capacity() {
            return Ok(());
        }
        let needed = u32::try_from(needed).map_err(|_| Full)?;
        let doubled = self.capacity.saturating_mul(2).max(needed).max(LEAST);
        // A heap that is almost full may have room for what is needed.
        self.move_to(doubled).or_else(|_| self.move_to(needed))
    }

    /// Appends copies of elements.
    ///
    /// # Panics
    /// Panics if the heap has no room.
    #[track_caller]
    pub fn extend_from_slice(&mut self, elements: &[T])
    where
        T: Copy,
    {
        self.reserve(elements.len());
        let end = self.len();
        self.slots()[end..][..elements.len()].write_copy_of_slice(elements);
        self.len += elements.len() as u32;
    }

    /// Moves the elements to a block for `capacity` elements, which are not fewer.
    fn move_to(&mut self, capacity: u32) -> Result<(), Full> {
        if capacity == self.capacity {
            return Ok(());
        }
        let bytes = size_of::<T>().checked_mul(capacity as usize).ok_or(Full)?;
        let address = self.heap().allocate(bytes)?.get();
        // SAFETY: the first `len` elements have values, and the block is new, large enough and aligned to 16 bytes.
        unsafe { ptr::copy_nonoverlapping(pointer::<T>(self.address), pointer(address), self.len()) };
        let (old, bytes) = (mem::replace(&mut self.address, address), self.bytes());
        self.capacity = capacity;
        if bytes > 0 {
            // SAFETY: the vector owned the block, whose elements have moved.
            unsafe { self.heap().free(old, bytes) };
        }
        Ok(())
    }

    /// Returns the heap that the vector holds.
    fn heap(&mut self) -> ManuallyDrop<Heap> {
        // SAFETY: the module's head tells why a vector behind `&mut` is none of a received message. Its address lies in the heap that it
        // holds until its drop.
        unsafe { Heap::at(self.address) }
    }

    /// Returns the room for elements, with a value in each of the first `len` slots.
    #[inline]
    fn slots(&mut self) -> &mut [MaybeUninit<T>] {
        // SAFETY: the vector owns a block for `capacity` elements, which is borrowed as the vector is. Without a capacity its address is
        // the heap's base, which is not null, and aligned.
        unsafe { slice::from_raw_parts_mut(pointer(self.address), self.capacity()) }
    }

    /// Returns the number of bytes of the block.
    fn bytes(&self) -> usize {
        self.capacity() * size_of::<T>()
    }
}

impl<T> Drop for Vec<T> {
    fn drop(&mut self) {
        // SAFETY: the vector holds the heap and owns the block, and is not used any more when the result is dropped, behind the elements.
        // The module's head tells why a vector that is dropped is none of a received message.
        let _release = unsafe { Release::of(self.address, self.bytes()) };
        self.clear();
    }
}
