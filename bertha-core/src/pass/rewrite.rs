//! One rewrite of a stack by one rule: a walk from top to bottom that replaces each match.

use super::pattern::Matches;
use super::place::{Inside, Items, Matched, Place, Start};
use super::report::Report;
use super::rule::{Guard, Pass, Rewrite, Rule};
use super::split::Split;
use crate::guarantee::{GivenByEither, Keeps};
use crate::identity::{Bool, False, True, kind};
use crate::{Bottom, Describe, Identity, Select, Stack};

/// True if the rule's condition holds for the Chunnels that matched.
type Holds<R, List> = <R as Guard<<List as Split<Items<R>>>::Captured>>::Holds;

/// A stack that the rule `R` walks over if it occurs in the stack.
#[doc(hidden)]
pub trait RewriteIf<Occurs, R, Kept> {
    type Output;
    type Changed: Bool;

    fn rewrite_if(self, rule: &R, report: &mut Report) -> Self::Output;
}

impl<S, R, Kept> RewriteIf<False, R, Kept> for S {
    type Output = S;
    type Changed = False;

    fn rewrite_if(self, _: &R, _: &mut Report) -> S {
        self
    }
}

impl<S: RewriteAll<R, Start, Kept>, R, Kept> RewriteIf<True, R, Kept> for S {
    type Output = S::Output;
    type Changed = S::Changed;

    fn rewrite_if(self, rule: &R, report: &mut Report) -> S::Output {
        self.rewrite_all(rule, report)
    }
}

/// A list, or an alternative, that the rule `R` walks over.
///
/// `Place` is its position in the whole stack. `Kept` are the guarantees of the lists around an alternative,
/// which the alternative may lose.
#[doc(hidden)]
pub trait RewriteAll<R, Place, Kept> {
    type Output;
    type Changed: Bool;

    fn rewrite_all(self, rule: &R, report: &mut Report) -> Self::Output;
}

impl<R, At, Kept> RewriteAll<R, At, Kept> for Bottom {
    type Output = Bottom;
    type Changed = False;

    fn rewrite_all(self, _: &R, _: &mut Report) -> Bottom {
        self
    }
}

impl<R, At, Kept, Head, Tail> RewriteAll<R, At, Kept> for Stack<Head, Tail>
where
    R: Rule,
    At: Place,
    Head: Identity,
    Self: Matches<Items<R>>,
    Self: Step<R, At, Kept, Head::Kind, Matched<R, At, Self>>,
{
    type Output = <Self as Step<R, At, Kept, Head::Kind, Matched<R, At, Self>>>::After;
    type Changed = <Self as Step<R, At, Kept, Head::Kind, Matched<R, At, Self>>>::Changes;

    fn rewrite_all(self, rule: &R, report: &mut Report) -> Self::Output {
        Step::<R, At, Kept, Head::Kind, Matched<R, At, Self>>::step(self, rule, report)
    }
}

/// A list whose first element is of this kind; `Matched` is true if the rule's pattern matches at its top.
#[doc(hidden)]
pub trait Step<R, At, Kept, Kind, Matched> {
    type After;
    type Changes: Bool;

    fn step(self, rule: &R, report: &mut Report) -> Self::After;
}

impl<R, At, Kept, Head, Tail> Step<R, At, Kept, kind::Layer, False> for Stack<Head, Tail>
where
    At: Place,
    Tail: RewriteAll<R, At::Next, Kept>,
{
    type After = Stack<Head, Tail::Output>;
    type Changes = Tail::Changed;

    fn step(self, rule: &R, report: &mut Report) -> Self::After {
        let (head, tail) = self.into_parts();
        Stack::from_parts(head, tail.rewrite_all(rule, report))
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
    Tail: RewriteAll<R, At::Next, Kept>,
{
    type After = Stack<Select<First::Output, Second::Output>, Tail::Output>;
    type Changes = <<First::Changed as Bool>::Or<Second::Changed> as Bool>::Or<Tail::Changed>;

    fn step(self, rule: &R, report: &mut Report) -> Self::After {
        let (head, tail) = self.into_parts();
        Stack::from_parts(head.rewrite_branch(rule, report), tail.rewrite_all(rule, report))
    }
}

/// A list at whose top the pattern matches; `Holds` is true if the rule's condition holds.
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
    R: Rule + Rewrite<List::Captured, <List::Rest as RewriteAll<R, At::Next, Kept>>::Output>,
    At: Place,
    List: Split<Items<R>> + Describe,
    List::Rest: RewriteAll<R, At::Next, Kept> + Describe,
    <List::Rest as RewriteAll<R, At::Next, Kept>>::Output: Describe,
    <R as Rewrite<List::Captured, <List::Rest as RewriteAll<R, At::Next, Kept>>::Output>>::Output: Describe,
{
    type Then = <R as Rewrite<List::Captured, <List::Rest as RewriteAll<R, At::Next, Kept>>::Output>>::Output;
    type Alters = True;

    fn decide(self, rule: &R, report: &mut Report) -> Self::Then {
        let before = self.nodes();
        let (captured, rest) = self.split();
        let matched = &before[..before.len().saturating_sub(rest.nodes().len())];

        let mut below = Report::default();
        let rest = rest.rewrite_all(rule, &mut below);
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

    fn rewrite_branch(self, rule: &R, report: &mut Report) -> Self::Output;
}

impl<R, Kept> Branch<R, Kept> for Bottom {
    type Output = Bottom;
    type Changed = False;

    fn rewrite_branch(self, _: &R, _: &mut Report) -> Bottom {
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

    fn rewrite_branch(self, rule: &R, report: &mut Report) -> Self::Output {
        self.rewrite_list(rule, report)
    }
}

/// An alternative that is a list with the guarantees `Promised`, all of which it keeps.
#[doc(hidden)]
pub trait Listed<R, Kept, Promised> {
    type After;
    type Changes: Bool;

    fn rewrite_list(self, rule: &R, report: &mut Report) -> Self::After;
}

impl<R, Kept, Promised, List> Listed<R, Kept, Promised> for List
where
    R: Pass,
    List: RewriteAll<R, Inside, GivenByEither<Kept, Promised>, Output: Identity>,
    Promised: Keeps<R, <List::Output as Identity>::Guarantees, GivenByEither<R::Weakens, Kept>>,
{
    type After = List::Output;
    type Changes = List::Changed;

    fn rewrite_list(self, rule: &R, report: &mut Report) -> List::Output {
        self.rewrite_all(rule, report)
    }
}

impl<R, Kept, First: Branch<R, Kept>, Second: Branch<R, Kept>> Branch<R, Kept> for Select<First, Second> {
    type Output = Select<First::Output, Second::Output>;
    type Changed = <First::Changed as Bool>::Or<Second::Changed>;

    fn rewrite_branch(self, rule: &R, report: &mut Report) -> Self::Output {
        let (first, second, prefer) = self.into_parts();
        let first = first.rewrite_branch(rule, report);
        Select::from_parts(first, second.rewrite_branch(rule, report), prefer)
    }
}
