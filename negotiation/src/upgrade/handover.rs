//! The machine that changes the stack of a connection at one end, without I/O and without a clock.
//!
//! ```text
//!   Steady --stage--> Staged --switch--> Switching --(sends_ended and rest_received)--> Leaving --receivers_left--> Steady
//!     ^                 |                    |
//!     +-----discard-----+------discard-------+ (until sends have ended)
//! ```
//!
//! How the ends agree on a change is not its business. An agreement owns the machine and tells it what was decided: between two ends
//! the [peer](super::by_peer) agrees or not, among participants the record in a store says so. The [shell](super::shell) carries
//! the [steps](Step) out, and reports what came of them.
//!
//! The order of the steps is the promise of a change. This end sends in the next epoch only after its sends in the old one have
//! ended and its Chunnels are drained; receivers leave the old stack only after that, since as long as it drains they
//! receive what its counterpart answers, and only after all that others have sent in the old epoch is here. So nothing is
//! lost, repeated or reordered by the change.

use std::collections::VecDeque;

/// The change of stacks at one end; `E` identifies an epoch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Handover<E> {
    current: E,
    phase: Phase<E>,
    steps: VecDeque<Step<E>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Phase<E> {
    /// No change is under way.
    Steady,
    /// The next stack is built, or about to be, and not used.
    Staged { next: E, is_built: bool },
    /// The change is decided.
    Switching {
        next: E,
        /// Whether this end sends in the next epoch.
        has_begun: bool,
        /// Whether the rest of the old epoch is waited for, and whether it is here.
        awaits_rest: bool,
        has_rest: bool,
    },
    /// Receivers leave the old stack.
    Leaving { next: E },
}

/// One step of a change, for the shell to carry out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step<E> {
    /// Make the bottom of a stack for this epoch, and keep the messages that arrive for it.
    Stage(E),
    /// Build the stack on it; then report [`built`](Handover::built).
    Build,
    /// Drop the staged epoch.
    Discard,
    /// Let no more sends start in the old epoch, wait for those under way, and drain the old stack; then report
    /// [`sends_ended`](Handover::sends_ended).
    EndSending {
        /// Whether that may fail, after which the old epoch goes on.
        may_fail: bool,
    },
    /// Send in this epoch from now on.
    Begin(E),
    /// Wait until all that was sent to this end in the old epoch was received; then report
    /// [`rest_received`](Handover::rest_received).
    AwaitRest,
    /// Have receivers leave the old stack; then report [`receivers_left`](Handover::receivers_left).
    LeaveOld,
    /// Receive in the new epoch, and drop the old stack without closing it: others may still receive what it has drained.
    Retire,
}

impl<E: Copy + PartialEq> Handover<E> {
    /// A connection that uses the stack of the epoch `current`.
    pub fn new(current: E) -> Self {
        Self { current, phase: Phase::Steady, steps: VecDeque::new() }
    }

    /// The next step, if there is one.
    pub fn poll_step(&mut self) -> Option<Step<E>> {
        self.steps.pop_front()
    }

    /// The epoch in which this end receives.
    pub fn current(&self) -> E {
        self.current
    }

    /// The epoch in which this end sends.
    pub fn sends_in(&self) -> E {
        match self.phase {
            Phase::Switching { next, has_begun: true, .. } | Phase::Leaving { next } => next,
            _ => self.current,
        }
    }

    /// Whether no change is under way, and no step is left.
    pub fn is_steady(&self) -> bool {
        matches!(self.phase, Phase::Steady) && self.steps.is_empty()
    }

    /// The epoch that is staged and not decided on.
    pub fn staged(&self) -> Option<E> {
        match self.phase {
            Phase::Staged { next, .. } => Some(next),
            _ => None,
        }
    }

    /// Whether a stack is staged, built, and not decided on.
    pub fn is_built(&self) -> bool {
        matches!(self.phase, Phase::Staged { is_built: true, .. })
    }

    /// Whether a change is decided and not over.
    pub fn is_switching(&self) -> bool {
        matches!(self.phase, Phase::Switching { .. } | Phase::Leaving { .. })
    }

    /// Whether receivers leave the old stack, so that nothing may be read for them.
    pub fn is_leaving(&self) -> bool {
        matches!(self.phase, Phase::Leaving { .. })
    }

    /// Stages the epoch `next`, in the place of one that was staged before. Not while a change is decided on.
    pub fn stage(&mut self, next: E) {
        self.discard();
        if let Phase::Steady = self.phase {
            self.phase = Phase::Staged { next, is_built: false };
            self.steps.push_back(Step::Stage(next));
        }
    }

    /// Builds the staged stack.
    pub fn build(&mut self) {
        if let Phase::Staged { is_built: false, .. } = self.phase {
            self.steps.push_back(Step::Build);
        }
    }

    /// The staged stack is built.
    pub fn built(&mut self) {
        if let Phase::Staged { is_built, .. } = &mut self.phase {
            *is_built = true;
        }
    }

    /// Gives up the staged epoch, also if it was decided on and sends in the old one could not be ended.
    pub fn discard(&mut self) {
        if let Phase::Staged { .. } | Phase::Switching { has_begun: false, awaits_rest: false, .. } =
            self.phase
        {
            self.phase = Phase::Steady;
            self.steps.push_back(Step::Discard);
        }
    }

    /// The change to the staged stack, which is built, is decided. `may_fail`: if sends in the old epoch do not end in time, it
    /// is [discarded](Self::discard).
    pub fn switch(&mut self, may_fail: bool) {
        if let Phase::Staged { next, is_built: true } = self.phase {
            self.phase = Phase::Switching { next, has_begun: false, awaits_rest: false, has_rest: false };
            self.steps.push_back(Step::EndSending { may_fail });
        }
    }

    /// Sends in the old epoch have ended.
    pub fn sends_ended(&mut self) {
        if let Phase::Switching { next, has_begun: has_begun @ false, .. } = &mut self.phase {
            *has_begun = true;
            self.steps.push_back(Step::Begin(*next));
            self.leave_if_done();
        }
    }

    /// It is known how the rest of the old epoch is told to be complete, so it can be waited for.
    pub fn await_rest(&mut self) {
        if let Phase::Switching { awaits_rest: awaits_rest @ false, .. } = &mut self.phase {
            *awaits_rest = true;
            self.steps.push_back(Step::AwaitRest);
        }
    }

    /// The rest of the old epoch is here, or was waited for long enough.
    pub fn rest_received(&mut self) {
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

    /// No receiver is in the old stack any more.
    pub fn receivers_left(&mut self) {
        if let Phase::Leaving { next } = self.phase {
            self.current = next;
            self.phase = Phase::Steady;
            self.steps.push_back(Step::Retire);
        }
    }
}
