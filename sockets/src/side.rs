//! The memory of a connection, as one of its ends sees it.

use crate::control::Control;
use bertha_ring::{Direction, Layout, Ring, Word};

/// A direction of a connection: its ring, and the words beside it.
#[derive(Debug)]
pub struct Side<'a, W> {
    pub(crate) ring: Ring<'a, W>,
    /// The words beside the ring.
    pub control: Control<'a, W>,
    pub(crate) longest: usize,
    /// The bytes of the ring.
    pub(crate) bytes: u64,
}

impl<W> Clone for Side<'_, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W> Copy for Side<'_, W> {}

impl<'a, W: Word> Side<'a, W> {
    /// Returns one direction in the memory of a connection.
    ///
    /// # Panics
    /// Panics if `memory` is smaller than the layout asks for.
    #[inline]
    pub fn new(layout: Layout, memory: &'a [W], direction: Direction) -> Self {
        let control = Control(layout.beside(memory, direction));
        Self {
            ring: layout.ring(memory, direction),
            control,
            longest: layout.longest(),
            bytes: layout.ring_bytes() as u64,
        }
    }
}
