//! What a pass is.

use super::occurs::{Occurs, SweepIf};
use super::pattern::{Names, Pattern};
use super::report::Report;
use super::sweep::Start;
use super::verdict;
use crate::guarantee::Guarantees;
use crate::identity::Bool;
use crate::{Describe, Identity, Node};

/// An optimisation pass: what does not depend on the stack that it is applied to.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an optimisation pass",
    label = "not a pass",
    note = "`#[subst(if [..] then [..])]` makes a unit struct a pass; by hand, one implements `Pass` and `Apply`"
)]
pub trait Pass {
    /// The pass's name, as reports say it.
    const NAME: &'static str;

    /// The guarantees that it may drop, `()` if none. Applications have to accept them by name.
    type Weakens: Guarantees;
}

/// A pass on the stack `S`. Implemented for every [`Rule`]; a pass that no rule can express implements it by hand.
///
/// ```
/// use bertha_core::identity::False;
/// use bertha_core::pass::{Apply, Pass, Report};
/// use bertha_core::{Describe, Identity, Stack, make_stack, optimize};
///
/// #[derive(Identity)] struct Trace;
/// #[derive(Identity)] struct Order;
///
/// /// Traces what the application sends and receives.
/// struct TraceTop;
///
/// impl Pass for TraceTop {
///     const NAME: &'static str = "TraceTop";
///     type Weakens = ();
/// }
///
/// impl<S> Apply<S> for TraceTop {
///     type Output = Stack<Trace, S>;
///     // One round is enough: a second one would trace twice.
///     type Changed = False;
///
///     fn apply(&self, stack: S, report: &mut Report) -> Self::Output {
///         report.changed("nothing", "Trace");
///         Stack::new(Trace, stack)
///     }
/// }
///
/// let stack = optimize!(make_stack!(Order), TraceTop);
/// assert_eq!(stack.explain().to_string(), "Trace / Order\n  TraceTop: nothing became Trace");
/// ```
pub trait Apply<S>: Pass {
    /// The rewritten stack.
    type Output;

    /// Whether anything changed that another round of passes should look at.
    type Changed: Bool;

    /// Rewrites the stack, and reports what it changed.
    fn apply(&self, stack: S, report: &mut Report) -> Self::Output;
}

/// A pass that replaces some Chunnels by others wherever they match a pattern. [`subst`](crate::subst) makes them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an optimisation pass for this stack",
    label = "neither a rule nor a pass that is applied by hand",
    note = "`#[subst(if [..] then [..])]` makes a unit struct a pass; by hand, one implements `Pass` and `Apply`"
)]
pub trait Rule: Pass {
    /// What it looks for.
    type Pattern: Pattern;
}

/// Whether a rule applies to the Chunnels that matched its pattern.
///
/// Asked after the match, so it may use what is known about them: `type Holds = C::Fixed`.
#[diagnostic::on_unimplemented(
    message = "the rule `{Self}` does not say whether it applies to `{Captured}`",
    label = "a match of the pattern of `{Self}`",
    note = "a rule by hand implements `Guard<{Captured}>` for what its pattern matches, with `type Holds = True` if it always applies"
)]
pub trait Guard<Captured> {
    /// The answer.
    type Holds: Bool;
}

/// How a rule replaces the Chunnels `Captured`, which stood on `Rest`.
///
/// `Captured` holds what matched, top first, as nested pairs ended by `()`; a [`Gap`](super::Gap) gives a stack.
#[diagnostic::on_unimplemented(
    message = "the rule `{Self}` does not say what `{Captured}` becomes",
    label = "a match of the pattern of `{Self}`",
    note = "a rule by hand implements `Rewrite<{Captured}, Rest>` for what its pattern matches and every `Rest`",
    note = "a variable that stands twice in a rule of `subst` has to be the same type where the pattern matches"
)]
pub trait Rewrite<Captured, Rest> {
    /// What stands there instead, `Rest` included.
    type Output;

    /// Builds it.
    fn rewrite(&self, captured: Captured, rest: Rest) -> Self::Output;
}

/// `From`, where a rule makes its new Chunnel of those that matched and are not kept.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be made of what the rule replaces, `{Matched}`",
    label = "the rule does not say how to make it",
    note = "implement `From<{Matched}>` for `{Self}`, or build it in the rule: `then [..] with |a, b| ..`"
)]
pub trait MadeOf<Matched> {
    fn made_of(matched: Matched) -> Self;
}

#[diagnostic::do_not_recommend]
impl<Matched, Made: From<Matched>> MadeOf<Matched> for Made {
    fn made_of(matched: Matched) -> Self {
        matched.into()
    }
}

impl<R: Rule, S> Apply<S> for R
where
    S: Identity + Describe + Occurs<R, Start>,
    S: SweepIf<<S as Occurs<R, Start>>::Is, R, <S as Identity>::Guarantees>,
{
    type Output = <S as SweepIf<<S as Occurs<R, Start>>::Is, R, S::Guarantees>>::Output;
    type Changed = <S as SweepIf<<S as Occurs<R, Start>>::Is, R, S::Guarantees>>::Changed;

    fn apply(&self, stack: S, report: &mut Report) -> Self::Output {
        let before = stack.nodes();
        let after = stack.sweep_if(self, report);
        if report.changes().is_empty() {
            report.unchanged(why_not::<R>(report, &before));
        }
        after
    }
}

fn why_not<R: Rule>(report: &Report, stack: &[Node]) -> String {
    let mut pattern = Vec::new();
    <R::Pattern as Pattern>::Items::names(&mut pattern);
    if report.was_unfit() {
        let names: Vec<_> = pattern.iter().map(|name| name.rsplit("::").next().unwrap_or(name)).collect();
        return format!("{} stands there, but the pass's condition does not hold", names.join(" / "));
    }
    verdict::why_not(&pattern, stack)
}
