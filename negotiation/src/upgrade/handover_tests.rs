//! The machine under all orders of events, for both ways of agreement, and each of its rules.

use super::handover::{Handover, Last, Step};
use std::collections::HashSet;

/// A connection that carries the steps out.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Model {
    machine: Handover<u8>,
    staged: Option<u8>,
    is_built: bool,
    /// True if another end may send in the staged epoch.
    may_be_in_use: bool,
    /// True if the agreement has decided the change, and if it is too late to give the change up.
    is_decided: bool,
    is_bound: bool,
    /// The work that was started and is not over.
    under_way: [bool; 4],
    /// The epoch of the change whose receivers wait for the end of sends.
    awaits_sends: Option<u8>,
    has_begun: bool,
    has_rest: bool,
    current: u8,
    /// The stack that receivers have left before the sends, or that is not dropped yet.
    old: Option<u8>,
}

const BUILDING: usize = 0;
const ENDING: usize = 1;
const AWAITING: usize = 2;
const LEAVING: usize = 3;

impl Model {
    fn new() -> Self {
        Self {
            machine: Handover::new(0),
            staged: None,
            is_built: false,
            may_be_in_use: false,
            is_decided: false,
            is_bound: false,
            under_way: [false; 4],
            awaits_sends: None,
            has_begun: false,
            has_rest: false,
            current: 0,
            old: None,
        }
    }

    fn carry_out(&mut self) {
        while let Some(step) = self.machine.poll_step() {
            match step {
                Step::Stage(next) => {
                    assert!(self.staged.is_none() && self.old.is_none() && next != self.current);
                    self.staged = Some(next);
                    // Numbers of epochs repeat in this model alone.
                    self.awaits_sends.take_if(|epoch| *epoch == next);
                }
                Step::Build => self.under_way[BUILDING] = true,
                Step::Discard => {
                    assert!(self.staged.is_some() && !self.has_begun, "what is used is discarded");
                    assert!(!self.is_bound, "a change that other ends have begun is given up");
                    (self.staged, self.is_built, self.may_be_in_use) = (None, false, false);
                    (self.is_decided, self.under_way[BUILDING]) = (false, false);
                }
                Step::EndSending { .. } => {
                    assert!(self.is_built, "sends end before there is another stack");
                    self.is_decided = true;
                    self.under_way[ENDING] = true;
                }
                Step::Begin(next) => {
                    assert!(!self.has_begun && !self.under_way[ENDING]);
                    assert_eq!(next, self.staged.unwrap_or(self.current));
                    self.has_begun = true;
                }
                Step::AwaitRest => {
                    assert!(self.is_decided && !self.has_rest);
                    (self.under_way[AWAITING], self.is_bound) = (true, true);
                }
                Step::AwaitSends(next) => {
                    assert!(self.has_rest && !self.has_begun && self.staged == Some(next));
                    self.awaits_sends = Some(next);
                }
                Step::LeaveOld => {
                    assert!(self.has_rest, "receivers leave what is in use");
                    self.under_way[LEAVING] = true;
                }
                Step::Enter => {
                    assert!(!self.under_way[LEAVING], "two receivers are in two stacks");
                    self.old = Some(std::mem::replace(&mut self.current, self.staged.take().unwrap()));
                }
                Step::Retire => {
                    assert!(self.has_begun && self.has_rest && self.old.is_some(), "a used stack is dropped");
                    (self.is_built, self.may_be_in_use, self.has_begun, self.has_rest) = Default::default();
                    (self.is_decided, self.is_bound, self.old) = (false, false, None);
                }
            }
        }
        self.check();
    }

    fn check(&self) {
        assert_eq!(self.machine.current(), self.current);
        let sends_in = match (self.has_begun, self.old) {
            (true, _) => self.staged.unwrap_or(self.current),
            (false, old) => old.unwrap_or(self.current),
        };
        assert_eq!(self.machine.sends_in(), sends_in);
        assert_eq!(self.machine.sends_in_current(), sends_in == self.current);
        assert_eq!(self.machine.is_leaving(), self.under_way[LEAVING]);
        assert_eq!(self.machine.is_switching(), self.is_decided);
        let is_idle = self.staged.is_none() && self.old.is_none();
        assert_eq!(self.machine.is_steady(), is_idle);
        assert_eq!(self.machine.staged(), self.staged.filter(|_| !self.is_decided));
        assert_eq!(self.machine.is_built(), self.is_built && !self.is_decided);
        let last = match self.staged {
            Some(next) if self.is_bound => Last::Next(next),
            Some(next) if self.may_be_in_use || self.has_begun => Last::Either(next),
            _ => Last::Current,
        };
        assert_eq!(self.machine.last(), last);
    }

    /// Returns all states that may follow: after an agreement's calls, at any time, and after the end of work
    /// under way.
    fn successors(&self) -> Vec<Self> {
        let next = (self.current + 1) % 3;
        let mut all: Vec<Self> = Vec::new();
        let mut after = |change: &dyn Fn(&mut Self)| {
            let mut model = self.clone();
            change(&mut model);
            model.carry_out();
            all.push(model);
        };
        after(&|it| it.machine.stage(next));
        after(&|it| it.machine.build());
        after(&|it| it.machine.switch(true));
        after(&|it| it.machine.await_rest());
        after(&|it| {
            it.may_be_in_use |= it.is_built && it.staged.is_some() && !it.is_decided;
            it.machine.expect();
        });
        // Sends can't be ended, and then they go on in the old epoch.
        after(&|it| {
            it.under_way[ENDING] &= it.is_bound || it.has_begun;
            it.machine.discard();
        });
        if let Some(epoch) = self.awaits_sends {
            // The time may be that of an earlier change.
            let is_alone = self.staged == Some(epoch) && self.has_rest && !self.has_begun;
            after(&|it| {
                it.awaits_sends = None;
                assert_eq!(it.machine.sends_are_late(epoch), is_alone);
            });
        }
        let mut over = |work: usize, then: &dyn Fn(&mut Self)| {
            if self.under_way[work] {
                after(&|it| {
                    it.under_way[work] = false;
                    then(it);
                });
            }
        };
        over(BUILDING, &|it| {
            it.is_built = true;
            it.machine.built();
        });
        over(ENDING, &|it| it.machine.sends_ended());
        over(AWAITING, &|it| {
            it.has_rest = true;
            it.machine.rest_received();
        });
        over(LEAVING, &|it| it.machine.receivers_left());
        all
    }
}

#[test]
fn no_order_of_events_uses_a_stack_too_early_or_too_late() {
    let first = Model::new();
    let (mut seen, mut open) = (HashSet::from([first.clone()]), vec![first]);
    while let Some(model) = open.pop() {
        for next in model.successors() {
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    assert!(seen.iter().any(|model| model.current == 2 && model.has_begun), "{} states", seen.len());
    assert!(seen.iter().any(|model| model.old.is_some() && !model.has_begun), "{} states", seen.len());
}

fn steps(machine: &mut Handover<u8>) -> Vec<Step<u8>> {
    std::iter::from_fn(|| machine.poll_step()).collect()
}

/// Returns a machine whose change to epoch 1 is staged, and built.
fn built() -> Handover<u8> {
    let mut machine = Handover::new(0);
    machine.stage(1);
    machine.build();
    assert_eq!(steps(&mut machine), [Step::Stage(1), Step::Build]);
    machine.built();
    assert!(machine.is_built());
    machine
}

/// Returns a machine whose change to epoch 1 is decided.
fn switching(may_fail: bool) -> Handover<u8> {
    let mut machine = built();
    machine.switch(may_fail);
    assert_eq!(steps(&mut machine), [Step::EndSending { may_fail }]);
    machine
}

/// The first agreement is an end that proposes; the second is a participant, or the other end.
#[test]
fn both_orders_of_a_change_lead_to_its_end() {
    let mut machine = switching(true);
    machine.sends_ended();
    assert_eq!(steps(&mut machine), [Step::Begin(1)]);
    machine.await_rest();
    assert_eq!(steps(&mut machine), [Step::AwaitRest]);
    machine.rest_received();
    assert_eq!(steps(&mut machine), [Step::LeaveOld]);
    machine.receivers_left();
    assert_eq!(steps(&mut machine), [Step::Enter, Step::Retire]);
    assert_eq!((machine.current(), machine.sends_in(), machine.is_steady()), (1, 1, true));

    let mut machine = switching(false);
    machine.await_rest();
    machine.rest_received();
    assert_eq!(steps(&mut machine), [Step::AwaitRest, Step::AwaitSends(1)]);
    assert!(machine.is_switching() && !machine.is_leaving());
    machine.sends_ended();
    assert_eq!(steps(&mut machine), [Step::Begin(1), Step::LeaveOld]);
    machine.receivers_left();
    assert_eq!(steps(&mut machine), [Step::Enter, Step::Retire]);
    assert_eq!((machine.current(), machine.sends_in(), machine.is_steady()), (1, 1, true));
}

/// The peer may count on a change that is decided.
#[test]
fn a_decided_change_is_not_given_up_for_another_stack() {
    let mut machine = Handover::new(0);
    machine.stage(1);
    machine.stage(2);
    assert_eq!(steps(&mut machine), [Step::Stage(1), Step::Discard, Step::Stage(2)]);
    machine.build();
    machine.built();
    machine.switch(true);
    while machine.poll_step().is_some() {}
    machine.stage(3);
    assert_eq!(machine.poll_step(), None);
    machine.sends_ended();
    assert_eq!(machine.poll_step(), Some(Step::Begin(2)));
}

/// Another end has begun, and sends in the next epoch alone.
#[test]
fn a_change_whose_rest_is_awaited_is_not_given_up() {
    let mut machine = switching(false);
    machine.await_rest();
    assert_eq!(steps(&mut machine), [Step::AwaitRest]);
    machine.discard();
    assert_eq!(steps(&mut machine), []);
    assert!(machine.is_switching());
    machine.rest_received();
    machine.discard();
    machine.sends_ended();
    assert_eq!(steps(&mut machine), [Step::AwaitSends(1), Step::Begin(1), Step::LeaveOld]);
}

#[test]
fn a_change_in_which_this_end_sends_is_not_given_up() {
    let mut machine = switching(true);
    machine.sends_ended();
    machine.sends_ended();
    machine.discard();
    assert_eq!(steps(&mut machine), [Step::Begin(1)]);
    assert_eq!(machine.sends_in(), 1);
}

#[test]
fn a_change_whose_sends_can_not_be_ended_leaves_the_old_stack_in_use() {
    let mut machine = switching(true);
    machine.discard();
    assert_eq!(steps(&mut machine), [Step::Discard]);
    assert_eq!((machine.current(), machine.sends_in(), machine.is_steady()), (0, 0, true));
    // The report of the end comes too late.
    machine.sends_ended();
    machine.await_rest();
    machine.rest_received();
    machine.receivers_left();
    assert_eq!(steps(&mut machine), []);
}

#[test]
fn a_stack_that_is_not_built_is_not_changed_to() {
    let mut machine = Handover::new(0);
    machine.build();
    machine.built();
    machine.switch(false);
    assert_eq!(steps(&mut machine), []);
    machine.stage(1);
    machine.build();
    machine.switch(false);
    assert_eq!(steps(&mut machine), [Step::Stage(1), Step::Build]);
    assert_eq!((machine.staged(), machine.is_built()), (Some(1), false));
    machine.built();
    machine.build();
    assert_eq!(steps(&mut machine), [], "it is built already");
}

#[test]
fn the_rest_is_awaited_once_and_receivers_leave_once() {
    let mut machine = switching(false);
    // Nothing is awaited yet.
    machine.rest_received();
    machine.await_rest();
    machine.await_rest();
    assert_eq!(steps(&mut machine), [Step::AwaitRest]);
    machine.rest_received();
    machine.rest_received();
    assert_eq!(steps(&mut machine), [Step::AwaitSends(1)]);
    machine.sends_ended();
    machine.sends_ended();
    assert!(!machine.sends_are_late(1));
    assert_eq!(steps(&mut machine), [Step::Begin(1), Step::LeaveOld]);
}

/// The counterpart takes no messages, and would otherwise hold up the messages that it sends.
#[test]
fn receivers_change_alone_if_sends_do_not_end() {
    for ends_while_leaving in [false, true] {
        let mut machine = switching(false);
        machine.await_rest();
        assert!(!machine.sends_are_late(1), "the rest is not here");
        machine.rest_received();
        assert_eq!(steps(&mut machine), [Step::AwaitRest, Step::AwaitSends(1)]);
        assert!(!machine.sends_are_late(2), "the time of another change is over");
        assert!(machine.sends_are_late(1) && !machine.sends_are_late(1));
        assert_eq!(steps(&mut machine), [Step::LeaveOld]);
        assert_eq!((machine.current(), machine.sends_in(), machine.is_leaving()), (0, 0, true));
        if ends_while_leaving {
            machine.sends_ended();
            assert_eq!(steps(&mut machine), [Step::Begin(1)]);
            assert_eq!((machine.current(), machine.sends_in()), (0, 1));
            machine.receivers_left();
            assert_eq!(steps(&mut machine), [Step::Enter, Step::Retire]);
        } else {
            machine.receivers_left();
            assert_eq!(steps(&mut machine), [Step::Enter], "the old stack still drains");
            assert_eq!((machine.current(), machine.sends_in()), (1, 0));
            assert!(machine.is_switching() && !machine.is_leaving() && !machine.is_steady());
            machine.stage(2);
            machine.discard();
            assert_eq!(steps(&mut machine), [], "another change begins, or this change is given up");
            machine.sends_ended();
            assert_eq!(steps(&mut machine), [Step::Begin(1), Step::Retire]);
        }
        assert_eq!((machine.current(), machine.sends_in(), machine.is_steady()), (1, 1, true));
        machine.stage(2);
        assert_eq!(machine.staged(), Some(2));
    }
}

/// An end that proposes has its stack built, and no other end may use that before this end does.
#[test]
fn a_stack_that_is_only_staged_has_no_messages() {
    let mut machine = Handover::new(0);
    assert_eq!(machine.last(), Last::Current);
    machine.stage(1);
    assert_eq!(machine.last(), Last::Current);
    machine.expect();
    assert_eq!(machine.last(), Last::Current, "the stack is not built");
    let mut machine = built();
    assert_eq!(machine.last(), Last::Current);
    machine.switch(true);
    assert_eq!(machine.last(), Last::Current);
    machine.sends_ended();
    assert_eq!(machine.last(), Last::Either(1), "the other end may have begun as well");
    machine.await_rest();
    assert_eq!(machine.last(), Last::Next(1));
    machine.rest_received();
    assert_eq!((machine.is_leaving(), machine.last()), (true, Last::Next(1)));
    machine.receivers_left();
    assert_eq!(machine.last(), Last::Current);
}

/// An end that has answered that it is ready does not know if the proposer has begun.
#[test]
fn a_stack_that_another_end_may_use_may_have_the_last_messages() {
    let mut machine = built();
    machine.expect();
    assert_eq!(machine.last(), Last::Either(1));
    machine.switch(false);
    assert_eq!(machine.last(), Last::Either(1));
    machine.await_rest();
    assert_eq!(machine.last(), Last::Next(1));
    machine.rest_received();
    assert!(machine.sends_are_late(1));
    assert_eq!(machine.last(), Last::Next(1));
    machine.receivers_left();
    assert_eq!((machine.current(), machine.last()), (1, Last::Current));

    let mut machine = built();
    machine.expect();
    machine.discard();
    assert_eq!(machine.last(), Last::Current);
    machine.stage(2);
    machine.build();
    machine.built();
    assert_eq!(machine.last(), Last::Current, "the flag is that of the stack before");
}
