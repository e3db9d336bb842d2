//! The kinds of element in a stack or a pattern.
//!
//! Stable Rust can't ask whether a type is, say, a `Select`; it can ask for an associated type and go on from there.

use super::{Bool, False, True};

/// A kind of element.
pub trait Kind {
    /// True if the kind is [`Anything`].
    type IsAnything: Bool;
}

/// A Chunnel.
#[derive(Debug)]
pub enum Layer {}

/// A parameter of a Chunnel, such as a codec. It never stands alone in a stack.
#[derive(Debug)]
pub enum Parameter {}

/// A `select!`.
#[derive(Debug)]
pub enum Choice {}

/// A stack, as an element of another stack.
#[derive(Debug)]
pub enum List {}

/// In a pattern: an element that matches every Chunnel or parameter.
#[derive(Debug)]
pub enum Anything {}

/// In a pattern: any number of elements.
#[derive(Debug)]
pub enum Gap {}

impl Kind for Layer {
    type IsAnything = False;
}

impl Kind for Parameter {
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
