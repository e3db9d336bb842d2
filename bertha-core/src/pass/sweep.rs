//! One walk of one rule over a stack, top to bottom.

use super::apply::{Guard, Rewrite, Rule};
use super::pattern::{Matches, Pattern};
use super::report::Report;
use super::split::Split;
use crate::guarantee::Keeps;
use crate::identity::{Bool, False, True, kind};
use crate::{Bottom, Describe, Identity, Pass, Select, Stack};

type Items<R> = <<R as Rule>::Pattern as Pattern>::Items;

/// Whether the rule's pattern matches at the top of this list, and may do so at this place.
pub(super) type Matched<R, At, List> =
    <<List as Matches<Items<R>>>::Is as Bool>::And<<At as Place>::Allows<<R as Rule>::Pattern>>;

/// Whether the rule's condition holds for what matched.
type Holds<R, List> = <R as Guard<<List as Split<Items<R>>>::Captured>>::Holds;

/// A list, or an alternative, that the rule `R` walks over.
///
/// `Place` is where in the whole stack it begins. `Kept` are the guarantees of the lists around it: what those promise
/// an alternative may lose.
#[doc(hidden)]
pub trait Sweep<R, Place, Kept> {
    type Output;
    type Changed: Bool;

    fn sweep(self, rule: &R, report: &mut Report) -> Self::Output;
}

/// A place in the whole stack.
#[doc(hidden)]
pub trait Place {
    /// Whether this pattern may begin there, if it matches.
    type Allows<P: Pattern>: Bool;
    /// The place of the next element.
    type Next: Place;
}

/// The top of the whole stack.
#[doc(hidden)]
#[derive(Debug)]
pub enum Start {}

/// Further down.
#[doc(hidden)]
#[derive(Debug)]
pub enum Below {}

/// In an alternative, which has a top and a bottom of its own.
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

impl<R, At, Kept> Sweep<R, At, Kept> for Bottom {
    type Output = Bottom;
    type Changed = False;

    fn sweep(self, _: &R, _: &mut Report) -> Bottom {
        self
    }
}

impl<R, At, Kept, Head, Tail> Sweep<R, At, Kept> for Stack<Head, Tail>
where
    R: Rule,
    At: Place,
    Head: Identity,
    Self: Matches<Items<R>>,
    Self: Step<R, At, Kept, Head::Kind, Matched<R, At, Self>>,
{
    type Output = <Self as Step<R, At, Kept, Head::Kind, Matched<R, At, Self>>>::After;
    type Changed = <Self as Step<R, At, Kept, Head::Kind, Matched<R, At, Self>>>::Changes;

    fn sweep(self, rule: &R, report: &mut Report) -> Self::Output {
        Step::<R, At, Kept, Head::Kind, Matched<R, At, Self>>::step(self, rule, report)
    }
}

/// A list whose first element is of this kind, and whether the rule's pattern matches at its top.
#[doc(hidden)]
pub trait Step<R, At, Kept, Kind, Matched> {
    type After;
    type Changes: Bool;

    fn step(self, rule: &R, report: &mut Report) -> Self::After;
}

impl<R, At, Kept, Head, Tail> Step<R, At, Kept, kind::Layer, False> for Stack<Head, Tail>
where
    At: Place,
    Tail: Sweep<R, At::Next, Kept>,
{
    type After = Stack<Head, Tail::Output>;
    type Changes = Tail::Changed;

    fn step(self, rule: &R, report: &mut Report) -> Self::After {
        let (head, tail) = self.into_parts();
        Stack::from_parts(head, tail.sweep(rule, report))
    }
}

impl<R, At, Kept, Head, Tail> Step<R, At, Kept, kind::Layer, True> for Stack<Head, Tail>
where
    R: Rule + Guard<<Self as Split<Items<R>>>::Captured>,
    Self: Split<Items<R>>,
    Self: Decide<R, At, Kept, Holds<R, Self>>,
{
    type After = <Self as Decide<R, At, Kept, Holds<R, Self>>>::Then;
    type Changes = <Self as Decide<R, At, Kept, Holds<R, Self>>>::Alters;

    fn step(self, rule: &R, report: &mut Report) -> Self::After {
        Decide::<R, At, Kept, Holds<R, Self>>::decide(self, rule, report)
    }
}

impl<R, At, Kept, First, Second, Tail> Step<R, At, Kept, kind::Choice, False>
    for Stack<Select<First, Second>, Tail>
where
    At: Place,
    First: Branch<R, Kept>,
    Second: Branch<R, Kept>,
    Tail: Sweep<R, At::Next, Kept>,
{
    type After = Stack<Select<First::Output, Second::Output>, Tail::Output>;
    type Changes = <<First::Changed as Bool>::Or<Second::Changed> as Bool>::Or<Tail::Changed>;

    fn step(self, rule: &R, report: &mut Report) -> Self::After {
        let (head, tail) = self.into_parts();
        Stack::from_parts(head.sweep_branch(rule, report), tail.sweep(rule, report))
    }
}

/// A list at whose top the pattern matches, and whether the rule's condition holds.
#[doc(hidden)]
pub trait Decide<R, At, Kept, Holds> {
    type Then;
    type Alters: Bool;

    fn decide(self, rule: &R, report: &mut Report) -> Self::Then;
}

impl<R, At, Kept, List> Decide<R, At, Kept, False> for List
where
    List: Step<R, At, Kept, kind::Layer, False>,
{
    type Then = List::After;
    type Alters = List::Changes;

    fn decide(self, rule: &R, report: &mut Report) -> Self::Then {
        report.unfit();
        self.step(rule, report)
    }
}

impl<R, At, Kept, List> Decide<R, At, Kept, True> for List
where
    R: Rule + Rewrite<List::Captured, <List::Rest as Sweep<R, At::Next, Kept>>::Output>,
    At: Place,
    List: Split<Items<R>> + Describe,
    List::Rest: Sweep<R, At::Next, Kept> + Describe,
    <List::Rest as Sweep<R, At::Next, Kept>>::Output: Describe,
    <R as Rewrite<List::Captured, <List::Rest as Sweep<R, At::Next, Kept>>::Output>>::Output: Describe,
{
    type Then = <R as Rewrite<List::Captured, <List::Rest as Sweep<R, At::Next, Kept>>::Output>>::Output;
    type Alters = True;

    fn decide(self, rule: &R, report: &mut Report) -> Self::Then {
        let before = self.nodes();
        let (captured, rest) = self.split();
        let matched = &before[..before.len().saturating_sub(rest.nodes().len())];

        let mut below = Report::default();
        let rest = rest.sweep(rule, &mut below);
        let kept = rest.nodes().len();
        let after = rule.rewrite(captured, rest);
        let nodes = after.nodes();
        report.replaced(matched, &nodes[..nodes.len().saturating_sub(kept)]);
        report.append(below);
        after
    }
}

/// An alternative of a `select!`: a list, or a further choice.
#[doc(hidden)]
pub trait Branch<R, Kept> {
    type Output;
    type Changed: Bool;

    fn sweep_branch(self, rule: &R, report: &mut Report) -> Self::Output;
}

impl<R, Kept> Branch<R, Kept> for Bottom {
    type Output = Bottom;
    type Changed = False;

    fn sweep_branch(self, _: &R, _: &mut Report) -> Bottom {
        self
    }
}

impl<R, Kept, Head, Tail> Branch<R, Kept> for Stack<Head, Tail>
where
    R: Rule,
    Self: Identity,
    Self: Listed<R, Kept, <Self as Identity>::Guarantees>,
{
    type Output = <Self as Listed<R, Kept, <Self as Identity>::Guarantees>>::After;
    type Changed = <Self as Listed<R, Kept, <Self as Identity>::Guarantees>>::Changes;

    fn sweep_branch(self, rule: &R, report: &mut Report) -> Self::Output {
        self.sweep_list(rule, report)
    }
}

/// An alternative that is a list and promises `Promised`, all of which it keeps.
#[doc(hidden)]
pub trait Listed<R, Kept, Promised> {
    type After;
    type Changes: Bool;

    fn sweep_list(self, rule: &R, report: &mut Report) -> Self::After;
}

impl<R, Kept, Promised, List> Listed<R, Kept, Promised> for List
where
    R: Pass,
    List: Sweep<R, Inside, (Kept, Promised), Output: Identity>,
    Promised: Keeps<R, <List::Output as Identity>::Guarantees, (R::Weakens, Kept)>,
{
    type After = List::Output;
    type Changes = List::Changed;

    fn sweep_list(self, rule: &R, report: &mut Report) -> List::Output {
        self.sweep(rule, report)
    }
}

impl<R, Kept, First: Branch<R, Kept>, Second: Branch<R, Kept>> Branch<R, Kept> for Select<First, Second> {
    type Output = Select<First::Output, Second::Output>;
    type Changed = <First::Changed as Bool>::Or<Second::Changed>;

    fn sweep_branch(self, rule: &R, report: &mut Report) -> Self::Output {
        let (first, second, prefer) = self.into_parts();
        let first = first.sweep_branch(rule, report);
        Select::from_parts(first, second.sweep_branch(rule, report), prefer)
    }
}
