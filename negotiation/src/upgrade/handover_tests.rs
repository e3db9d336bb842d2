//! The machine under all orders of events, for both ways of agreement.

use super::handover::{Handover, Step};
use std::collections::HashSet;

/// A connection that carries the steps out.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Model {
    machine: Handover<u8>,
    staged: Option<u8>,
    is_built: bool,
    /// The work that was started and is not over: building, ending sends, awaiting the rest, leaving.
    under_way: [bool; 4],
    has_begun: bool,
    has_rest: bool,
    current: u8,
}

const BUILDING: usize = 0;
const ENDING: usize = 1;
const AWAITING: usize = 2;
const LEAVING: usize = 3;

impl Model {
    fn carry_out(&mut self) {
        while let Some(step) = self.machine.poll_step() {
            match step {
                Step::Stage(next) => {
                    assert!(self.staged.is_none() && next != self.current);
                    self.staged = Some(next);
                }
                Step::Build => self.under_way[BUILDING] = true,
                Step::Discard => {
                    assert!(self.staged.is_some() && !self.has_begun, "what is used is discarded");
                    (self.staged, self.is_built) = (None, false);
                    self.under_way[BUILDING] = false;
                }
                Step::EndSending { .. } => {
                    assert!(self.is_built, "sends end before there is another stack");
                    self.under_way[ENDING] = true;
                }
                Step::Begin(next) => {
                    assert!(self.staged == Some(next) && !self.has_begun);
                    self.has_begun = true;
                }
                Step::AwaitRest => self.under_way[AWAITING] = true,
                Step::LeaveOld => {
                    assert!(self.has_begun && self.has_rest, "receivers leave what is in use");
                    self.under_way[LEAVING] = true;
                }
                Step::Retire => {
                    self.current = self.staged.take().unwrap();
                    (self.is_built, self.has_begun, self.has_rest) = (false, false, false);
                }
            }
        }
        assert_eq!(self.machine.current(), self.current);
        assert_eq!(self.machine.sends_in(), if self.has_begun { self.staged.unwrap() } else { self.current });
        assert_eq!(self.machine.is_leaving(), self.under_way[LEAVING]);
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
        // Sends can't be ended. An agreement learns this only as long as ending may fail.
        if !self.under_way[ENDING] || !self.under_way[AWAITING] && !self.has_rest {
            after(&|it| {
                it.machine.discard();
                it.under_way[ENDING] = false;
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
    let first = Model {
        machine: Handover::new(0),
        staged: None,
        is_built: false,
        under_way: [false; 4],
        has_begun: false,
        has_rest: false,
        current: 0,
    };
    let (mut seen, mut open) = (HashSet::from([first.clone()]), vec![first]);
    while let Some(model) = open.pop() {
        for next in model.successors() {
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    assert!(seen.iter().any(|model| model.current == 2 && model.has_begun), "{} states", seen.len());
}

/// The peer may have begun: what it sends in the new epoch would be lost.
#[test]
fn a_change_is_not_given_up_once_the_rest_is_awaited() {
    let mut machine = Handover::new(0);
    machine.stage(1);
    machine.build();
    machine.built();
    machine.switch(true);
    machine.await_rest();
    while machine.poll_step().is_some() {}
    machine.discard();
    assert_eq!(machine.poll_step(), None);
    assert!(machine.is_switching());
    machine.rest_received();
    machine.sends_ended();
    assert_eq!(machine.poll_step(), Some(Step::Begin(1)));
    assert_eq!(machine.poll_step(), Some(Step::LeaveOld));
    machine.receivers_left();
    assert_eq!(machine.current(), 1);
}

/// The peer may count on a change that is decided.
#[test]
fn a_decided_change_is_not_given_up_for_another_stack() {
    let mut machine = Handover::new(0);
    machine.stage(1);
    machine.stage(2);
    machine.build();
    machine.built();
    machine.switch(true);
    while machine.poll_step().is_some() {}
    machine.stage(3);
    assert_eq!(machine.poll_step(), None);
    machine.sends_ended();
    assert_eq!(machine.poll_step(), Some(Step::Begin(2)));
}
