//! Applying a pass to a stack.

use super::occurs::Occurs;
use super::pattern::{Names, Pattern};
use super::place::Start;
use super::report::Report;
use super::rewrite::RewriteIf;
use super::rule::{Pass, Rule};
use super::verdict;
use crate::identity::Bool;
use crate::{Describe, Identity, Node};

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
/// /// Traces the messages that the application sends and receives.
/// struct TraceTop;
///
/// impl Pass for TraceTop {
///     const NAME: &'static str = "TraceTop";
///     type Weakens = ();
/// }
///
/// impl<S> Apply<S> for TraceTop {
///     type Output = Stack<Trace, S>;
///     // One round is enough: a second round would trace twice.
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

    /// True if another round of passes should look at the result.
    type Changed: Bool;

    /// Rewrites the stack, and reports its changes.
    fn apply(&self, stack: S, report: &mut Report) -> Self::Output;
}

impl<R: Rule, S> Apply<S> for R
where
    S: Identity + Describe + Occurs<R, Start>,
    S: RewriteIf<<S as Occurs<R, Start>>::Is, R, <S as Identity>::Guarantees>,
{
    type Output = <S as RewriteIf<<S as Occurs<R, Start>>::Is, R, S::Guarantees>>::Output;
    type Changed = <S as RewriteIf<<S as Occurs<R, Start>>::Is, R, S::Guarantees>>::Changed;

    fn apply(&self, stack: S, report: &mut Report) -> Self::Output {
        let before = stack.nodes();
        let after = stack.rewrite_if(self, report);
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
