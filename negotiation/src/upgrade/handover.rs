//! The machine that changes the stack of a connection at one end, without I/O and without a clock.
//!
//! ```text
//!   Steady --stage--> Staged --switch--> Switching --(sends_ended and rest_received)--> Leaving --receivers_left--> Steady
//!     ^                 |                    |
//!     +-----discard-----+------discard-------+ (until sends have ended)
//! ```
//!
//! The machine does not know how the ends agree on a change. An agreement owns the machine and tells it the
//! decisions: between two ends the [peer](super::by_peer) accepts or declines, and among participants the
//! record in a store decides. The [task](super::task) carries the [steps](Step) out, and reports their
//! results.
//!
//! The order of the steps is the promise of a change. This end sends in the next epoch only after its sends
//! in the old epoch have ended and its Chunnels are drained. Receivers leave the old stack only after that,
//! since they receive the counterpart's answers while the stack drains, and only after all messages that
//! other ends have sent in the old epoch have arrived. So the change loses, repeats and reorders no message.

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
    Staged { next: E, is_built: bool },
    /// The change is decided.
    Switching {
        next: E,
        /// True if this end sends in the next epoch.
        has_begun: bool,
        /// True if this end waits for the rest of the old epoch; `has_rest` is true if the rest is here.
        awaits_rest: bool,
        has_rest: bool,
    },
    /// The receivers are leaving the old stack.
    Leaving { next: E },
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
    /// Makes receivers leave the old stack, and then reports [`receivers_left`](Handover::receivers_left).
    LeaveOld,
    /// Makes this end receive in the new epoch, and drops the old stack without closing it: other ends may
    /// still receive the messages that it has drained.
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
            Phase::Switching { next, has_begun: true, .. } | Phase::Leaving { next } => next,
            _ => self.current,
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
        matches!(self.phase, Phase::Switching { .. } | Phase::Leaving { .. })
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
            self.phase = Phase::Staged { next, is_built: false };
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
        if let Phase::Staged { next, is_built: true } = self.phase {
            self.phase = Phase::Switching { next, has_begun: false, awaits_rest: false, has_rest: false };
            self.steps.push_back(Step::EndSending { may_fail });
        }
    }

    /// Records that sends in the old epoch have ended.
    pub(crate) fn sends_ended(&mut self) {
        if let Phase::Switching { next, has_begun: has_begun @ false, .. } = &mut self.phase {
            *has_begun = true;
            self.steps.push_back(Step::Begin(*next));
            self.leave_if_done();
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
        if let Phase::Switching { awaits_rest: true, has_rest, .. } = &mut self.phase {
            *has_rest = true;
            self.leave_if_done();
        }
    }

    fn leave_if_done(&mut self) {
        if let Phase::Switching { next, has_begun: true, has_rest: true, .. } = self.phase {
            self.phase = Phase::Leaving { next };
            self.steps.push_back(Step::LeaveOld);
        }
    }

    /// Records that no receiver is in the old stack any more.
    pub(crate) fn receivers_left(&mut self) {
        if let Phase::Leaving { next } = self.phase {
            self.current = next;
            self.phase = Phase::Steady;
            self.steps.push_back(Step::Retire);
        }
    }
}
