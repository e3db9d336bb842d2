//! The search for a place in a stack where a rule's pattern matches.
//!
//! The search comes before the walk, so that a rule that matches nowhere costs the compiler types alone and
//! no code. That case is most of the cost of passes: in the last round no pass matches.

use super::pattern::{Matches, Pattern};
use super::place::{Inside, Matched, Place};
use super::rule::Rule;
use crate::identity::{Bool, False, True, kind};
use crate::{Bottom, Identity, Select, Stack};

/// A list, or an alternative, that begins at `Place`. [`Is`](Self::Is) is true if the pattern of `R` matches
/// somewhere in it.
#[doc(hidden)]
pub trait Occurs<R, Place> {
    /// True if the pattern matches somewhere in the list.
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

/// [`Occurs`], given the kind of the first element and the answer whether the pattern matches at the top.
#[doc(hidden)]
pub trait OccursBelow<R, Place, Kind, Here> {
    /// True if the pattern matches somewhere in the list.
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
