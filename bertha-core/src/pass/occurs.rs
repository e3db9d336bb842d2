//! Whether a rule has anything to do in a stack.
//!
//! Decided before the walk, so that a rule that matches nowhere costs the compiler types alone and no code. That is most
//! of the cost of passes: in the last round none of them matches.

use super::pattern::{Matches, Pattern};
use super::place::{Inside, Matched, Place};
use super::rule::Rule;
use crate::identity::{Bool, False, True, kind};
use crate::{Bottom, Identity, Select, Stack};

/// Whether the pattern of `R` matches somewhere in this list, or alternative, which begins at `Place`.
#[doc(hidden)]
pub trait Occurs<R, Place> {
    /// The answer.
    type Is: Bool;
}

impl<R, At> Occurs<R, At> for Bottom {
    type Is = False;
}

impl<R, At, Head, Tail> Occurs<R, At> for Stack<Head, Tail>
where
    R: Rule,
    At: Place,
    Head: Identity,
    Self: Matches<<R::Pattern as Pattern>::Items>,
    Self: OccursBelow<R, At, Head::Kind, Matched<R, At, Self>>,
{
    type Is = <Self as OccursBelow<R, At, Head::Kind, Matched<R, At, Self>>>::Found;
}

impl<R, At, First: Occurs<R, Inside>, Second: Occurs<R, Inside>> Occurs<R, At> for Select<First, Second> {
    type Is = <First::Is as Bool>::Or<Second::Is>;
}

/// As [`Occurs`], by the kind of the first element and whether the pattern matches right there.
#[doc(hidden)]
pub trait OccursBelow<R, Place, Kind, Here> {
    /// The answer.
    type Found: Bool;
}

impl<R, At, Kind, Head, Tail> OccursBelow<R, At, Kind, True> for Stack<Head, Tail> {
    type Found = True;
}

impl<R, At: Place, Head, Tail> OccursBelow<R, At, kind::Layer, False> for Stack<Head, Tail>
where
    Tail: Occurs<R, At::Next>,
{
    type Found = Tail::Is;
}

impl<R, At: Place, Head, Tail> OccursBelow<R, At, kind::Choice, False> for Stack<Head, Tail>
where
    Head: Occurs<R, Inside>,
    Tail: Occurs<R, At::Next>,
{
    type Found = <Head::Is as Bool>::Or<Tail::Is>;
}
