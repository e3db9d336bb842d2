//! The machine that changes the stack of a connection at one end, without I/O and without a clock.
//!
//! ```text
//!   Steady --stage--> Staged --switch--> Switching --(sends_ended and rest_received)--> Leaving --receivers_left--> Steady
//!     ^                 |                  | |                                            ^ |                          ^
//!     +-----discard-----+-----discard------+ +--(rest_received, and sends_are_late)-------+ |                          |
//!                        (until sends                                                       +-- Draining --sends_ended-+
//!                         have ended)                                                     (if sends have not ended)
//! ```
//!
//! The machine does not know how the ends agree on a change. An agreement owns the machine and tells it the
//! decisions: between two ends the [peer](super::by_peer) accepts or declines, and among participants the
//! record in a store decides. The [task](super::task) carries the [steps](Step) out, and reports their
//! results. The machine alone knows which stack this end [sends in](Handover::sends_in), and which stack has
//! the [last messages](Handover::last) of a connection that ends.
//!
//! The order of the steps is the promise of a change. This end sends in the next epoch only after its sends
//! in the old epoch have ended and its Chunnels are drained. Receivers leave the old stack only after all
//! messages that other ends have sent in the old epoch have arrived. So the change loses, repeats and
//! reorders no message. Receivers also wait for the end of this end's sends, since they receive the
//! counterpart's answers while the stack drains. This wait has a limit where the counterpart may never take
//! the messages: after the limit the receivers change alone, and the task reads the old stack in their place.

use std::collections::VecDeque;

/// The change of stacks at one end; `E` identifies an epoch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Handover<E> {
    current: E,
    phase: Phase<E>,
    steps: VecDeque<Step<E>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Phase<E> {
    /// No change is under way.
    Steady,
    /// The next stack is built or being built, and not in use.
    Staged {
        next: E,
        is_built: bool,
        /// True if another end may send in the next epoch.
        may_be_in_use: bool,
    },
    /// The change is decided.
    Switching {
        next: E,
        /// True if another end may send in the next epoch, although it has not announced that.
        may_be_in_use: bool,
        /// True if this end sends in the next epoch.
        has_begun: bool,
        /// True if this end waits for the rest of the old epoch; `has_rest` is true if the rest is here.
        awaits_rest: bool,
        has_rest: bool,
    },
    /// The receivers are leaving the old stack.
    Leaving {
        next: E,
        /// True if this end sends in the next epoch.
        has_begun: bool,
    },
    /// The receivers are in the new stack, and sends in the epoch `old` have yet to end.
    Draining { old: E },
}

/// The stack that has the last messages of a connection that ends now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Last<E> {
    /// The stack in which this end receives: no other end sends in another epoch.
    Current,
    /// The stack of this epoch, behind all messages of the current stack: another end sends in it.
    Next(E),
    /// The stack of this epoch if it has a message, and either of both stacks if it has none: another end may
    /// send in this epoch, and its announcement has not arrived.
    Either(E),
}

/// A step of a change, which the task carries out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Step<E> {
    /// Makes the bottom of a stack for this epoch, and keeps the messages that arrive for it.
    Stage(E),
    /// Builds the stack on the link, and then reports [`built`](Handover::built).
    Build,
    /// Drops the staged epoch.
    Discard,
    /// Lets no more sends start in the old epoch, waits for the sends under way, drains the old stack, and
    /// then reports [`sends_ended`](Handover::sends_ended).
    EndSending {
        /// True if the step may fail, after which the old epoch goes on.
        may_fail: bool,
    },
    /// Makes this end send in this epoch from now on.
    Begin(E),
    /// Waits until all messages to this end in the old epoch were received, and then reports
    /// [`rest_received`](Handover::rest_received).
    AwaitRest,
    /// Waits for the time that receivers may wait for the end of this end's sends, if it has a limit, and
    /// then reports [`sends_are_late`](Handover::sends_are_late) for the change to this epoch.
    AwaitSends(E),
    /// Makes receivers leave the old stack, and then reports [`receivers_left`](Handover::receivers_left).
    LeaveOld,
    /// Makes this end receive in the new epoch. Until [`Retire`](Self::Retire), the old stack is read without
    /// receivers.
    Enter,
    /// Drops the old stack without closing it: other ends may still receive the messages that it has drained.
    Retire,
}

impl<E: Copy + PartialEq> Handover<E> {
    /// Makes the machine of a connection that uses the stack of the epoch `current`.
    pub(crate) fn new(current: E) -> Self {
        Self { current, phase: Phase::Steady, steps: VecDeque::new() }
    }

    /// Returns the next step, if any.
    pub(crate) fn poll_step(&mut self) -> Option<Step<E>> {
        self.steps.pop_front()
    }

    /// Returns the epoch in which this end receives.
    pub(crate) fn current(&self) -> E {
        self.current
    }

    /// Returns the epoch in which this end sends.
    pub(crate) fn sends_in(&self) -> E {
        match self.phase {
            Phase::Switching { next, has_begun: true, .. } | Phase::Leaving { next, has_begun: true } => next,
            Phase::Draining { old } => old,
            _ => self.current,
        }
    }

    /// Returns true if this end sends in the stack in which it receives.
    pub(crate) fn sends_in_current(&self) -> bool {
        self.sends_in() == self.current
    }

    /// Returns the stack that has the last messages to this end, if the connection ends now. A stack that is
    /// only staged has none.
    pub(crate) fn last(&self) -> Last<E> {
        match self.phase {
            Phase::Switching { next, awaits_rest: true, .. } | Phase::Leaving { next, .. } => {
                Last::Next(next)
            }
            // The other end may begin once this end has.
            Phase::Switching { next, has_begun: true, .. }
            | Phase::Switching { next, may_be_in_use: true, .. }
            | Phase::Staged { next, may_be_in_use: true, .. } => Last::Either(next),
            Phase::Steady | Phase::Staged { .. } | Phase::Switching { .. } | Phase::Draining { .. } => {
                Last::Current
            }
        }
    }

    /// Returns true if no change is under way, and no step is left.
    pub(crate) fn is_steady(&self) -> bool {
        matches!(self.phase, Phase::Steady) && self.steps.is_empty()
    }

    /// Returns the epoch that is staged and not decided.
    pub(crate) fn staged(&self) -> Option<E> {
        match self.phase {
            Phase::Staged { next, .. } => Some(next),
            _ => None,
        }
    }

    /// Returns true if a stack is staged, built, and not decided.
    pub(crate) fn is_built(&self) -> bool {
        matches!(self.phase, Phase::Staged { is_built: true, .. })
    }

    /// Returns true if a change is decided and not complete.
    pub(crate) fn is_switching(&self) -> bool {
        matches!(self.phase, Phase::Switching { .. } | Phase::Leaving { .. } | Phase::Draining { .. })
    }

    /// Returns true if receivers are leaving the old stack, so that no message may be read for them.
    pub(crate) fn is_leaving(&self) -> bool {
        matches!(self.phase, Phase::Leaving { .. })
    }

    /// Stages the epoch `next`, in the place of an epoch that was staged before. A change that is decided
    /// goes on instead, and `next` is not staged.
    pub(crate) fn stage(&mut self, next: E) {
        if let Phase::Staged { .. } = self.phase {
            self.discard();
        }
        if let Phase::Steady = self.phase {
            self.phase = Phase::Staged { next, is_built: false, may_be_in_use: false };
            self.steps.push_back(Step::Stage(next));
        }
    }

    /// Builds the staged stack.
    pub(crate) fn build(&mut self) {
        if let Phase::Staged { is_built: false, .. } = self.phase {
            self.steps.push_back(Step::Build);
        }
    }

    /// Records that the staged stack is built.
    pub(crate) fn built(&mut self) {
        if let Phase::Staged { is_built, .. } = &mut self.phase {
            *is_built = true;
        }
    }

    /// Records that another end may send in the staged epoch from now on, since it knows that the stack is
    /// built.
    pub(crate) fn expect(&mut self) {
        if let Phase::Staged { is_built: true, may_be_in_use, .. } = &mut self.phase {
            *may_be_in_use = true;
        }
    }

    /// Gives up the staged epoch, even if it was decided and sends in the old epoch could not be ended.
    pub(crate) fn discard(&mut self) {
        if let Phase::Staged { .. } | Phase::Switching { has_begun: false, awaits_rest: false, .. } =
            self.phase
        {
            self.phase = Phase::Steady;
            self.steps.push_back(Step::Discard);
        }
    }

    /// Decides the change to the staged stack, which is built. With `may_fail`, the change is
    /// [discarded](Self::discard) if sends in the old epoch do not end in time.
    pub(crate) fn switch(&mut self, may_fail: bool) {
        if let Phase::Staged { next, is_built: true, may_be_in_use } = self.phase {
            self.phase = Phase::Switching {
                next,
                may_be_in_use,
                has_begun: false,
                awaits_rest: false,
                has_rest: false,
            };
            self.steps.push_back(Step::EndSending { may_fail });
        }
    }

    /// Records that sends in the old epoch have ended.
    pub(crate) fn sends_ended(&mut self) {
        match &mut self.phase {
            Phase::Switching { next, has_begun: has_begun @ false, .. } => {
                *has_begun = true;
                self.steps.push_back(Step::Begin(*next));
                self.leave_if_done();
            }
            Phase::Leaving { next, has_begun: has_begun @ false } => {
                *has_begun = true;
                self.steps.push_back(Step::Begin(*next));
            }
            Phase::Draining { .. } => {
                self.phase = Phase::Steady;
                self.steps.extend([Step::Begin(self.current), Step::Retire]);
            }
            _ => {}
        }
    }

    /// Records that the size of the rest of the old epoch is known, so that the rest can be waited for.
    pub(crate) fn await_rest(&mut self) {
        if let Phase::Switching { awaits_rest: awaits_rest @ false, .. } = &mut self.phase {
            *awaits_rest = true;
            self.steps.push_back(Step::AwaitRest);
        }
    }

    /// Records that the rest of the old epoch is here, or that the wait for it has timed out.
    pub(crate) fn rest_received(&mut self) {
        if let Phase::Switching { next, has_begun, awaits_rest: true, has_rest: has_rest @ false, .. } =
            &mut self.phase
        {
            *has_rest = true;
            if !*has_begun {
                self.steps.push_back(Step::AwaitSends(*next));
            }
            self.leave_if_done();
        }
    }

    fn leave_if_done(&mut self) {
        if let Phase::Switching { next, has_begun: true, has_rest: true, .. } = self.phase {
            self.phase = Phase::Leaving { next, has_begun: true };
            self.steps.push_back(Step::LeaveOld);
        }
    }

    /// Records that receivers have waited long enough for the end of sends before the change to the epoch
    /// `to`. Returns true if the receivers change alone, since the sends have not ended meanwhile.
    pub(crate) fn sends_are_late(&mut self, to: E) -> bool {
        // With the rest here, receivers wait for nothing but the end of sends.
        if let Phase::Switching { next, has_rest: true, .. } = self.phase
            && next == to
        {
            self.phase = Phase::Leaving { next, has_begun: false };
            self.steps.push_back(Step::LeaveOld);
            return true;
        }
        false
    }

    /// Records that no receiver is in the old stack any more.
    pub(crate) fn receivers_left(&mut self) {
        if let Phase::Leaving { next, has_begun } = self.phase {
            let old = std::mem::replace(&mut self.current, next);
            self.steps.push_back(Step::Enter);
            if has_begun {
                self.phase = Phase::Steady;
                self.steps.push_back(Step::Retire);
            } else {
                self.phase = Phase::Draining { old };
            }
        }
    }
}
