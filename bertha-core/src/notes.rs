//! Notes of layers about their connection.

use std::fmt;
use std::sync::{Mutex, PoisonError};

/// The most notes of a stack.
const MOST: usize = 64;

/// The longest note in bytes.
const LONGEST: usize = 512;

/// What a layer has found out about its connection while it was built: left by
/// [`ConnectContext::note`](crate::ConnectContext::note).
///
/// Displayed, it reads `MaybeLocal: shared memory`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Note {
    /// The Chunnel.
    pub layer: &'static str,
    /// The finding, in a few words.
    pub text: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.layer, self.text)
    }
}

/// The place where the driver of a stack finds the notes of the stack's layers; for drivers alone. Each stack that is built has its own
/// place.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct NotePlace(Mutex<Vec<Note>>);

impl NotePlace {
    /// Keeps a note, cut if it is too long. Without room, the note is lost.
    pub(crate) fn keep(&self, layer: &'static str, text: &dyn fmt::Display) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < MOST {
            let mut text = text.to_string();
            text.truncate(text.floor_char_boundary(LONGEST));
            notes.push(Note { layer, text });
        }
    }

    /// Takes the notes out, in the order in which the layers were built, from the bottom up.
    pub fn take(&self) -> Vec<Note> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConnectContext;

    #[test]
    fn notes_stay_in_their_order_and_within_their_limits() {
        let place = NotePlace::default();
        let context = ConnectContext::<()>::none().with_notes(&place);
        context.note("Lower", "found");
        context.note("Upper", "\u{e9}".repeat(LONGEST));
        let notes = place.take();
        assert_eq!(notes[0].to_string(), "Lower: found");
        assert_eq!((notes[1].layer, notes[1].text.len()), ("Upper", LONGEST));
        assert!(place.take().is_empty());
        for _ in 0..=MOST {
            context.note("Chatty", "again");
        }
        assert_eq!(place.take().len(), MOST);
        ConnectContext::<()>::none().note("Alone", "nobody reads it");
    }
}
