//! The stack that passes leave, with their reports.

use super::fixpoint::{Fixpoint, Reports, Rounds};
use super::flatten::{Append, Flatten};
use super::report::Report;
use crate::identity::{Reserved, kind};
use crate::picks::Picks;
use crate::{BoxFuture, Chunnel, ConnectContext, Connection, Describe, Error, Identity, Node, Roaming};
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

/// A stack that these passes can be applied to: the bound of a function that is generic over the stack.
///
/// `Passes` are nested pairs of [`Given`](super::Given).
pub trait Optimize<Passes> {
    /// The rewritten stack.
    type Output;

    /// Applies the passes.
    #[track_caller]
    fn optimize(self, passes: &Passes) -> Self::Output
    where
        Self: Sized,
    {
        self.optimize_at(passes, Location::caller(), false)
    }

    /// Applies the passes to a stack that is made at `place`. `for_crate` is true if they are those of a crate.
    #[doc(hidden)]
    fn optimize_at(self, passes: &Passes, place: &'static Location<'static>, for_crate: bool)
    -> Self::Output;
}

impl<S, Passes> Optimize<Passes> for S
where
    S: Flatten,
    S::Flat: Fixpoint<Passes, Rounds, ()>,
    Passes: Reports,
{
    type Output = Optimized<
        <S::Flat as Fixpoint<Passes, Rounds, ()>>::Fixed,
        <S::Flat as Fixpoint<Passes, Rounds, ()>>::Changes,
    >;

    fn optimize_at(
        self,
        passes: &Passes,
        place: &'static Location<'static>,
        for_crate: bool,
    ) -> Self::Output {
        let mut earlier = Vec::new();
        let flat = self.flatten(&mut earlier);
        let mut reports = Vec::new();
        Passes::reports(&mut reports);
        let stack = flat.to_fixpoint(passes, &mut reports);
        for report in &mut reports {
            report.set_place(place, for_crate);
            report.tell();
        }
        Optimized { stack, reports: joined(earlier, reports), changed: PhantomData }
    }
}

/// Returns the changes of passes in parts of a stack, and then the reports on the whole stack. A part that stands in
/// several places of the stack counts once.
fn joined(earlier: Vec<Report>, whole: Vec<Report>) -> Arc<[Report]> {
    let mut all: Vec<Report> = Vec::with_capacity(earlier.len() + whole.len());
    for report in earlier {
        if !report.changes().is_empty() && !all.iter().any(|other| report.repeats(other)) {
            all.push(report);
        }
    }
    all.extend(whole);
    all.into()
}

/// Rewrites `stack` by `passes`; [`optimize!`](crate::optimize) calls it.
#[doc(hidden)]
#[track_caller]
// The passes are the first argument, so that their types are known when the compiler reports an error in the
// stack.
pub fn optimize<Passes, S: Optimize<Passes>>(passes: Passes, stack: S) -> S::Output {
    stack.optimize(&passes)
}

/// A stack that passes were applied to. It makes the same connections as the stack inside.
///
/// `ChangedBy` names the passes that changed something, the last pass first, for messages of the compiler.
pub struct Optimized<S, ChangedBy = ()> {
    stack: S,
    reports: Arc<[Report]>,
    changed: PhantomData<fn() -> ChangedBy>,
}

impl<S, ChangedBy> Optimized<S, ChangedBy> {
    /// Returns a report for each pass, in the order of the passes. Before them stand the reports of passes that have
    /// changed parts of the stack when these were made.
    pub fn reports(&self) -> &[Report] {
        &self.reports
    }

    /// Returns the stack inside.
    pub fn into_inner(self) -> S {
        self.stack
    }
}

impl<S: Describe, ChangedBy> Describe for Optimized<S, ChangedBy> {
    fn describe(&self, into: &mut Vec<Node>) {
        self.stack.describe(into);
    }

    fn selects(&self) -> usize {
        self.stack.selects()
    }

    fn notes(&self, into: &mut Vec<String>) {
        self.stack.notes(into);
        into.extend(self.reports.iter().filter(|report| report.is_shown()).map(Report::to_string));
    }
}

impl<S: Identity, ChangedBy> Identity for Optimized<S, ChangedBy> {
    type Id = Reserved;
    type Parameters = ();
    type Guarantees = S::Guarantees;
    type Kind = kind::List;
    const NAME: &'static str = "bertha-core::Optimized";
}

/// Further passes see the stack inside.
impl<S: Flatten, ChangedBy> Flatten for Optimized<S, ChangedBy> {
    type Flat = S::Flat;

    fn flatten(self, earlier: &mut Vec<Report>) -> S::Flat {
        earlier.extend(self.reports.iter().cloned());
        self.stack.flatten(earlier)
    }
}

impl<S: Append<Below>, ChangedBy, Below> Append<Below> for Optimized<S, ChangedBy> {
    type Output = S::Output;

    fn append(self, below: Below) -> S::Output {
        self.stack.append(below)
    }
}

/// A stack that fits together over `Inner` after these passes. The trait exists for its error message: the
/// message of [`Chunnel`] can't name the passes.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "the stack does not fit together after these passes changed it, the last one first: `{ChangedBy}`",
    label = "the passes left Chunnels that don't fit each other",
    note = "a further error says which Chunnels; leave out the passes to see whether the stack fits without them"
)]
pub trait FitsAfter<ChangedBy, Inner: Connection> {}

impl<S, Inner: Connection> FitsAfter<(), Inner> for S {}

impl<S: Chunnel<Inner>, Last, Earlier, Inner: Connection> FitsAfter<(Last, Earlier), Inner> for S {}

// This impl applies to nothing. With two candidate impls, the compiler reports this trait's message beside
// the reason inside the first impl, rather than the reason alone.
impl<S, Last, Earlier, Inner: Connection> FitsAfter<(Last, Earlier), Inner> for S where Unfit<S>: Never {}

#[doc(hidden)]
#[derive(Debug)]
pub struct Unfit<S>(PhantomData<S>);

/// A trait that no type implements.
#[doc(hidden)]
pub trait Never {}

impl<S, ChangedBy, Inner> Chunnel<Inner> for Optimized<S, ChangedBy>
where
    S: FitsAfter<ChangedBy, Inner> + Chunnel<Inner>,
    Inner: Connection,
{
    type Connection = S::Connection;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<S::Connection, Error> {
        self.stack.connect_wrap(inner, context).await
    }

    fn instantiate<'a>(
        &'a self,
        inner: Inner,
        picks: Picks<'a>,
        context: ConnectContext<'a, Inner>,
    ) -> BoxFuture<'a, Result<S::Connection, Error>>
    where
        Inner: 'a,
    {
        self.stack.instantiate(inner, picks, context)
    }

    fn roaming<'a>(&'a self, into: &mut Vec<&'a dyn Roaming>) {
        self.stack.roaming(into);
    }
}

impl<S: Clone, ChangedBy> Clone for Optimized<S, ChangedBy> {
    fn clone(&self) -> Self {
        Self { stack: self.stack.clone(), reports: self.reports.clone(), changed: PhantomData }
    }
}

impl<S: Describe, ChangedBy> fmt::Debug for Optimized<S, ChangedBy> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]", self.explain())
    }
}
