//! What can stand at one place of a stack or of a pattern.
//!
//! Stable Rust can't ask whether a type is, say, a `Select`; it can ask for an associated type and go on from there.

use super::{Bool, False, True};

/// One of the kinds below.
pub trait Kind {
    /// Whether it is [`Anything`].
    type IsAnything: Bool;
}

/// A Chunnel, or a parameter of one.
#[derive(Debug)]
pub enum Layer {}

/// A `select!`.
#[derive(Debug)]
pub enum Choice {}

/// A stack, as an element of another.
#[derive(Debug)]
pub enum List {}

/// In a pattern: whatever stands there.
#[derive(Debug)]
pub enum Anything {}

/// In a pattern: any number of elements.
#[derive(Debug)]
pub enum Gap {}

impl Kind for Layer {
    type IsAnything = False;
}

impl Kind for Choice {
    type IsAnything = False;
}

impl Kind for List {
    type IsAnything = False;
}

impl Kind for Anything {
    type IsAnything = True;
}

impl Kind for Gap {
    type IsAnything = False;
}
