//! Places in a stack where a pattern may begin.

use super::pattern::{Matches, Pattern};
use super::rule::Rule;
use crate::identity::{Bool, True};

/// The elements of a rule's pattern.
pub(super) type Items<R> = <<R as Rule>::Pattern as Pattern>::Items;

/// True if the rule's pattern matches at the top of this list, and may begin at this place.
pub(super) type Matched<R, At, List> =
    <<List as Matches<Items<R>>>::Is as Bool>::And<<At as Place>::Allows<<R as Rule>::Pattern>>;

/// A place in the whole stack.
#[doc(hidden)]
pub trait Place {
    /// True if this pattern may begin at this place.
    type Allows<P: Pattern>: Bool;
    /// The place of the next element.
    type Next: Place;
}

/// The top of the whole stack.
#[doc(hidden)]
#[derive(Debug)]
pub enum Start {}

/// A place below the top of the whole stack.
#[doc(hidden)]
#[derive(Debug)]
pub enum Below {}

/// A place in an alternative, which has a top and a bottom of its own.
#[doc(hidden)]
#[derive(Debug)]
pub enum Inside {}

impl Place for Start {
    type Allows<P: Pattern> = True;
    type Next = Below;
}

impl Place for Below {
    type Allows<P: Pattern> = <P::AtTop as Bool>::Not;
    type Next = Below;
}

impl Place for Inside {
    type Allows<P: Pattern> = <<P::AtTop as Bool>::Or<P::AtBottom> as Bool>::Not;
    type Next = Inside;
}
