//! Text in a heap.
#![allow(unsafe_code)]

use super::{Full, Heap, Vec};
use std::fmt;
use std::ops::Deref;

/// Growing text in a heap. It lies in memory as a vector of its bytes, which are always UTF-8: a daemon that writes a string into a message
/// has checked it.
#[derive(PartialEq, Eq)]
#[repr(transparent)]
pub struct String {
    bytes: Vec<u8>,
}

impl String {
    /// Creates an empty string. It takes no room.
    pub fn new_in(heap: &Heap) -> Self {
        Self { bytes: Vec::new_in(heap) }
    }

    /// Creates an empty string with room for so many bytes.
    ///
    /// # Panics
    /// Panics if the heap has no room.
    #[track_caller]
    pub fn with_capacity_in(capacity: usize, heap: &Heap) -> Self {
        Self { bytes: Vec::with_capacity_in(capacity, heap) }
    }

    /// Returns the number of bytes for which there is room.
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Copies text into a heap.
    ///
    /// # Panics
    /// Panics if the heap has no room.
    #[track_caller]
    pub fn from_str_in(text: &str, heap: &Heap) -> Self {
        let mut bytes = Vec::with_capacity_in(text.len(), heap);
        bytes.extend_from_slice(text.as_bytes());
        Self { bytes }
    }

    /// Returns the text.
    #[inline]
    pub fn as_str(&self) -> &str {
        // SAFETY: only whole characters are added and removed.
        unsafe { str::from_utf8_unchecked(&self.bytes) }
    }

    /// Appends text.
    ///
    /// # Panics
    /// Panics if the heap has no room.
    #[track_caller]
    pub fn push_str(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Appends a character.
    ///
    /// # Panics
    /// Panics if the heap has no room.
    #[track_caller]
    pub fn push(&mut self, character: char) {
        self.push_str(character.encode_utf8(&mut [0; 4]));
    }

    /// Removes the last character, and returns it.
    pub fn pop(&mut self) -> Option<char> {
        let last = self.chars().next_back()?;
        self.bytes.truncate(self.len() - last.len_utf8());
        Some(last)
    }

    /// Removes all text. The room stays.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Removes all bytes but the first `len`. The room stays.
    ///
    /// # Panics
    /// Panics if there are more bytes, and a character does not end there.
    #[track_caller]
    pub fn truncate(&mut self, len: usize) {
        assert!(len > self.len() || self.is_char_boundary(len), "no character ends at byte {len}");
        self.bytes.truncate(len);
    }

    /// Makes room for so many bytes more.
    ///
    /// # Panics
    /// Panics if the heap has no room.
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        self.bytes.reserve(additional);
    }

    /// Makes room for so many bytes more.
    ///
    /// # Errors
    /// Fails if the heap has no room, or if there would be more than `u32::MAX` bytes. The string stays as it is.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), Full> {
        self.bytes.try_reserve(additional)
    }
}

impl Deref for String {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for String {
    fn as_ref(&self) -> &str {
        self
    }
}

impl fmt::Display for String {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), f)
    }
}

impl fmt::Debug for String {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl PartialEq<str> for String {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for String {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

/// Writing fails where the heap has no room, and does not panic.
impl fmt::Write for String {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.try_reserve(text.len()).map_err(|_| fmt::Error)?;
        self.push_str(text);
        Ok(())
    }
}
