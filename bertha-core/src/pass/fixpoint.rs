//! The fixpoint of passes: applied in order until none of them changes anything.

use super::apply::Apply;
use super::given::Given;
use super::report::Report;
use super::rule::Pass;
use crate::Identity;
use crate::guarantee::{Accepted, Keeps};
use crate::identity::{Bool, False, True};

/// The maximum number of rounds within which passes have to reach their fixpoint, with one element for each
/// round.
pub(super) type Rounds = ((), ((), ((), ((), ((), ((), ((), ((), ()))))))));

/// A stack for which `Passes` have a fixpoint. `Log` names the passes that changed something in earlier
/// rounds.
#[doc(hidden)]
pub trait Fixpoint<Passes, Rounds, Log> {
    type Fixed;
    /// The passes that changed something, as nested pairs, the last pass first.
    type Changes;

    fn to_fixpoint(self, passes: &Passes, reports: &mut [Report]) -> Self::Fixed;
}

impl<S, Passes, Rounds, Log> Fixpoint<Passes, ((), Rounds), Log> for S
where
    S: Round<Passes, Log>,
    S::After: Again<Passes, Rounds, S::LogAfter, S::Changed>,
{
    type Fixed = <S::After as Again<Passes, Rounds, S::LogAfter, S::Changed>>::Fixed;
    type Changes = <S::After as Again<Passes, Rounds, S::LogAfter, S::Changed>>::Changes;

    fn to_fixpoint(self, passes: &Passes, reports: &mut [Report]) -> Self::Fixed {
        self.round(passes, reports).again(passes, reports)
    }
}

impl<S, Passes, Log> Fixpoint<Passes, (), Log> for S
where
    S: Round<Passes, ()>,
    Passes: HasFixpoint<S::LogAfter>,
{
    type Fixed = S;
    type Changes = Log;

    fn to_fixpoint(self, _: &Passes, _: &mut [Report]) -> S {
        self
    }
}

/// A trait without an implementation: the bound on passes that still change something after the last round.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "these passes do not come to rest: after 8 rounds they still change the stack",
    label = "passes that undo each other, or a rule that matches what it makes",
    note = "in the next round they would change it again, the last one first: `{Changing}`"
)]
pub trait HasFixpoint<Changing> {}

/// Another round, if the last round changed something.
#[doc(hidden)]
pub trait Again<Passes, Rounds, Log, Changed> {
    type Fixed;
    type Changes;

    fn again(self, passes: &Passes, reports: &mut [Report]) -> Self::Fixed;
}

impl<S, Passes, Rounds, Log> Again<Passes, Rounds, Log, False> for S {
    type Fixed = S;
    type Changes = Log;

    fn again(self, _: &Passes, _: &mut [Report]) -> S {
        self
    }
}

impl<S, Passes, Rounds, Log> Again<Passes, Rounds, Log, True> for S
where
    S: Fixpoint<Passes, Rounds, Log>,
{
    type Fixed = S::Fixed;
    type Changes = S::Changes;

    fn again(self, passes: &Passes, reports: &mut [Report]) -> Self::Fixed {
        self.to_fixpoint(passes, reports)
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
