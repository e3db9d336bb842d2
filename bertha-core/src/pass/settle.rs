//! Applying passes in order until none of them changes anything.

use super::apply::{Apply, Pass};
use super::optimized::Given;
use super::report::Report;
use crate::Identity;
use crate::guarantee::{Accepted, Keeps};
use crate::identity::{Bool, False, True};

/// How many rounds passes may take to come to rest: one element for each.
pub(super) type Rounds = ((), ((), ((), ((), ((), ((), ((), ((), ()))))))));

/// A stack that `Passes` bring to rest. `Log` names those that changed something before.
#[doc(hidden)]
pub trait Settle<Passes, Rounds, Log> {
    type Settled;
    /// The passes that changed something, as nested pairs, the last one first.
    type Changes;

    fn settle(self, passes: &Passes, reports: &mut [Report]) -> Self::Settled;
}

impl<S, Passes, Rounds, Log> Settle<Passes, ((), Rounds), Log> for S
where
    S: Round<Passes, Log>,
    S::After: Again<Passes, Rounds, S::LogAfter, S::Changed>,
{
    type Settled = <S::After as Again<Passes, Rounds, S::LogAfter, S::Changed>>::Settled;
    type Changes = <S::After as Again<Passes, Rounds, S::LogAfter, S::Changed>>::Changes;

    fn settle(self, passes: &Passes, reports: &mut [Report]) -> Self::Settled {
        self.round(passes, reports).again(passes, reports)
    }
}

impl<S, Passes, Log> Settle<Passes, (), Log> for S
where
    Passes: ComesToRest<Log>,
{
    type Settled = S;
    type Changes = Log;

    fn settle(self, _: &Passes, _: &mut [Report]) -> S {
        self
    }
}

/// Never implemented: what is asked of passes that still change something after the last round.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "these passes do not come to rest: after 8 rounds they still change the stack",
    label = "passes that undo each other, or a rule that matches what it makes",
    note = "these are the passes that changed something, the last one first: `{Log}`"
)]
pub trait ComesToRest<Log> {}

/// Another round, if the last one changed something.
#[doc(hidden)]
pub trait Again<Passes, Rounds, Log, Changed> {
    type Settled;
    type Changes;

    fn again(self, passes: &Passes, reports: &mut [Report]) -> Self::Settled;
}

impl<S, Passes, Rounds, Log> Again<Passes, Rounds, Log, False> for S {
    type Settled = S;
    type Changes = Log;

    fn again(self, _: &Passes, _: &mut [Report]) -> S {
        self
    }
}

impl<S, Passes, Rounds, Log> Again<Passes, Rounds, Log, True> for S
where
    S: Settle<Passes, Rounds, Log>,
{
    type Settled = S::Settled;
    type Changes = S::Changes;

    fn again(self, passes: &Passes, reports: &mut [Report]) -> Self::Settled {
        self.settle(passes, reports)
    }
}

/// One round: each pass once, in order.
#[doc(hidden)]
pub trait Round<Passes, Log> {
    type After;
    type LogAfter;
    type Changed: Bool;

    fn round(self, passes: &Passes, reports: &mut [Report]) -> Self::After;
}

impl<S, Log> Round<(), Log> for S {
    type After = S;
    type LogAfter = Log;
    type Changed = False;

    fn round(self, (): &(), _: &mut [Report]) -> S {
        self
    }
}

impl<S, P, Accepts, Passes, Log> Round<(Given<P, Accepts>, Passes), Log> for S
where
    S: Identity,
    P: Apply<S, Output: Identity>,
    P::Weakens: Accepted<P, Accepts>,
    S::Guarantees: Keeps<P, <P::Output as Identity>::Guarantees, P::Weakens>,
    P::Output: Round<Passes, <P::Changed as Bool>::If<(P, Log), Log>>,
{
    type After = <P::Output as Round<Passes, <P::Changed as Bool>::If<(P, Log), Log>>>::After;
    type LogAfter = <P::Output as Round<Passes, <P::Changed as Bool>::If<(P, Log), Log>>>::LogAfter;
    type Changed = <P::Changed as Bool>::Or<
        <P::Output as Round<Passes, <P::Changed as Bool>::If<(P, Log), Log>>>::Changed,
    >;

    fn round(self, (pass, passes): &(Given<P, Accepts>, Passes), reports: &mut [Report]) -> Self::After {
        let mut nowhere = Report::default();
        let (report, reports) = match reports.split_first_mut() {
            Some((report, reports)) => (report, reports),
            None => (&mut nowhere, &mut [][..]),
        };
        pass.pass().apply(self, report).round(passes, reports)
    }
}

/// A report for each pass.
#[doc(hidden)]
pub trait Reports {
    fn reports(into: &mut Vec<Report>);
}

impl Reports for () {
    fn reports(_: &mut Vec<Report>) {}
}

impl<P: Pass, Accepts, Passes: Reports> Reports for (Given<P, Accepts>, Passes) {
    fn reports(into: &mut Vec<Report>) {
        into.push(Report::of(P::NAME));
        Passes::reports(into);
    }
}
