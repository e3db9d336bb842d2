//! What a pass is.

use super::pattern::{Names, Pattern};
use super::report::Report;
use super::sweep::{Start, Sweep};
use super::verdict;
use crate::guarantee::Guarantees;
use crate::identity::Bool;
use crate::{Describe, Identity, Node};

/// An optimisation pass: what does not depend on the stack that it is applied to.
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
pub trait Rule: Pass {
    /// What it looks for.
    type Pattern: Pattern;
}

/// Whether a rule applies to the Chunnels that matched its pattern.
///
/// Asked after the match, so it may use what is known about them: `type Holds = C::Fixed`.
pub trait Guard<Captured> {
    /// The answer.
    type Holds: Bool;
}

/// How a rule replaces the Chunnels `Captured`, which stood on `Rest`.
///
/// `Captured` holds what matched, top first, as nested pairs ended by `()`; a [`Gap`](super::Gap) gives a stack.
pub trait Rewrite<Captured, Rest> {
    /// What stands there instead, `Rest` included.
    type Output;

    /// Builds it.
    fn rewrite(&self, captured: Captured, rest: Rest) -> Self::Output;
}

impl<R: Rule, S> Apply<S> for R
where
    S: Identity + Describe + Sweep<R, Start, <S as Identity>::Guarantees>,
{
    type Output = S::Output;
    type Changed = S::Changed;

    fn apply(&self, stack: S, report: &mut Report) -> Self::Output {
        let before = stack.nodes();
        let after = stack.sweep(self, report);
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
