//! Stacks within stacks, made one list, so that a pattern matches wherever an application put its brackets.

use super::report::Report;
use crate::identity::kind;
use crate::{Bottom, Identity, Select, Stack};

/// A stack as one list: the elements of a stack within the stack become elements of the list. Alternatives of
/// a `select!` stay lists of their own.
#[doc(hidden)]
pub trait Flatten {
    type Flat;

    /// Returns the list. Appends the reports of passes that have rewritten a part of it before.
    fn flatten(self, earlier: &mut Vec<Report>) -> Self::Flat;
}

impl Flatten for Bottom {
    type Flat = Bottom;

    fn flatten(self, _: &mut Vec<Report>) -> Bottom {
        self
    }
}

impl<Head, Tail> Flatten for Stack<Head, Tail>
where
    Head: Identity + FlattenOnto<Tail, Head::Kind>,
{
    type Flat = Head::Flat;

    fn flatten(self, earlier: &mut Vec<Report>) -> Self::Flat {
        let (head, tail) = self.into_parts();
        head.flatten_onto(tail, earlier)
    }
}

impl<First: Flatten, Second: Flatten> Flatten for Select<First, Second> {
    type Flat = Select<First::Flat, Second::Flat>;

    fn flatten(self, earlier: &mut Vec<Report>) -> Self::Flat {
        let (first, second, prefer) = self.into_parts();
        let first = first.flatten(earlier);
        Select::from_parts(first, second.flatten(earlier), prefer)
    }
}

/// An element of this kind put on top of a list, both flattened.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "passes can't be applied to `{Self}`, of which nothing is known here",
    label = "not known to be a Chunnel, a `select!` or a stack",
    note = "a function that is generic over a part of its stack asks that the passes apply to all of it: `S: Optimize<(Given<Pass, ()>, ())>`",
    note = "if the pass comes from `passes!`, the function may make its stack by `plain_stack!` instead"
)]
pub trait FlattenOnto<Tail, Kind> {
    type Flat;

    fn flatten_onto(self, tail: Tail, earlier: &mut Vec<Report>) -> Self::Flat;
}

impl<Head, Tail: Flatten> FlattenOnto<Tail, kind::Layer> for Head {
    type Flat = Stack<Head, Tail::Flat>;

    fn flatten_onto(self, tail: Tail, earlier: &mut Vec<Report>) -> Self::Flat {
        Stack::from_parts(self, tail.flatten(earlier))
    }
}

impl<Head: Flatten, Tail: Flatten> FlattenOnto<Tail, kind::Choice> for Head {
    type Flat = Stack<Head::Flat, Tail::Flat>;

    fn flatten_onto(self, tail: Tail, earlier: &mut Vec<Report>) -> Self::Flat {
        let head = self.flatten(earlier);
        Stack::from_parts(head, tail.flatten(earlier))
    }
}

impl<Head, Tail> FlattenOnto<Tail, kind::List> for Head
where
    Head: Flatten<Flat: Append<Tail::Flat>>,
    Tail: Flatten,
{
    type Flat = <Head::Flat as Append<Tail::Flat>>::Output;

    fn flatten_onto(self, tail: Tail, earlier: &mut Vec<Report>) -> Self::Flat {
        let head = self.flatten(earlier);
        head.append(tail.flatten(earlier))
    }
}

/// A stack put on top of another.
pub trait Append<Below> {
    /// The joined list.
    type Output;

    /// Puts this stack on top of `below`.
    fn append(self, below: Below) -> Self::Output;
}

impl<Below> Append<Below> for Bottom {
    type Output = Below;

    fn append(self, below: Below) -> Below {
        below
    }
}

impl<Head, Tail: Append<Below>, Below> Append<Below> for Stack<Head, Tail> {
    type Output = Stack<Head, Tail::Output>;

    fn append(self, below: Below) -> Self::Output {
        let (head, tail) = self.into_parts();
        Stack::from_parts(head, tail.append(below))
    }
}
