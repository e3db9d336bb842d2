//! An engine of a library.

use super::library::{Handle, Round, Way};
use super::reads::Reads;
use super::verdict::{Decision, Mistake};
use crate::{Binding, Burst, Engine, FailureKind, Kind, Message, Parts, Refusal, Settings, Unsuitable};
use bertha_core::log_pause::LogPause;
use bertha_plugin::abi::NEVER;
use bertha_schemas::Path;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time by which an engine is put off that is due for ever.
const PUT_OFF: Duration = Duration::from_millis(1);

/// An engine of a library, with the requests that it holds.
#[derive(Debug)]
pub(super) struct Loaded {
    handle: Handle,
    reads: Reads,
    held: VecDeque<Message>,
    due: Option<Duration>,
    /// The decisions about a burst.
    decisions: Vec<Decision>,
    /// The pause between two lines of the log about mistakes.
    pause: LogPause,
}

impl Loaded {
    /// # Errors
    /// Fails if the engine reads what the binding's schema lacks.
    pub(super) fn new(mut handle: Handle, binding: &Binding) -> Result<Self, Unsuitable> {
        let name = handle.name().to_owned();
        let reads = Reads::find(&name, binding, |method| handle.reads(method))?;
        let (held, decisions) = (VecDeque::new(), Vec::with_capacity(Burst::LONGEST));
        Ok(Self { handle, reads, held, due: None, decisions, pause: LogPause::default() })
    }

    /// Takes the requests that an earlier engine held.
    pub(super) fn take_over(&mut self, held: &mut VecDeque<Message>) {
        self.held.append(held);
        self.due = Some(Duration::ZERO);
    }

    /// Has the library decide about each message. Returns false if it failed.
    fn decide(&mut self, way: Way, round: &mut Round, messages: &[Message]) -> bool {
        let Self { handle, reads, decisions, pause, .. } = self;
        decisions.clear();
        let mut first = None;
        let decided = handle.work((way, round), messages, reads, decisions, |name, message, mistake| {
            first.get_or_insert(mistake.1);
            instead(name, message, mistake)
        });
        let what = match (decided, first) {
            (true, None) => return true,
            (true, Some(mistake)) => mistake.to_string(),
            (false, _) => "it failed".to_owned(),
        };
        if pause.is_over(Some(Instant::now())) {
            tracing::error!(engine = handle.name(), what, "an engine of a library has made a mistake");
        }
        decided
    }

    /// Refuses the messages that are to be refused. Returns the place of the first of the others that is held.
    fn refuse(&mut self, burst: &mut Burst) -> Option<usize> {
        let (mut decisions, mut kept, mut held) = (self.decisions.drain(..), 0, None);
        burst.refuse_if(|_| match decisions.next() {
            Some(Decision::Refuse(refusal)) => Some(refusal),
            decision => {
                if decision == Some(Decision::Hold) {
                    held.get_or_insert(kept);
                }
                kept += 1;
                None
            }
        });
        held
    }

    /// Refuses all messages that may be, since the engine has failed.
    fn refuse_all(&mut self, burst: &mut Burst) {
        let reason: Arc<str> = format!("the engine {} has failed", self.handle.name()).into();
        let refusal = || Refusal { kind: FailureKind::Failed, reason: Arc::clone(&reason) };
        burst.cancel_held(&mut self.held);
        burst.refuse_if(|message| (message.kind != Kind::Cancellation).then(refusal));
        for request in self.held.drain(..) {
            burst.refuse_held(request, refusal());
        }
        self.due = None;
    }

    /// Lets requests that waited go on, and sets the time of the next look.
    fn release(&mut self, burst: &mut Burst, round: Round, now: Duration) {
        burst.cancel_held(&mut self.held);
        let wanted = round.release.min(self.held.len());
        let room = burst.room();
        burst.take_from(&mut self.held, wanted);
        let due = (round.due != NEVER).then(|| Duration::from_nanos(round.due));
        self.due = match due {
            // The engine decides about the rest when there is room.
            _ if wanted > room => Some(now),
            Some(due) if due <= now => Some(now + PUT_OFF),
            due => due,
        };
    }
}

/// Returns the decision in place of one that is a mistake.
#[cold]
fn instead(name: &str, message: &Message, (kind, mistake): (FailureKind, Mistake)) -> Decision {
    if message.kind == Kind::Cancellation {
        return Decision::Pass;
    }
    let reason = format!("the engine {name} made a mistake: {mistake}").into();
    Decision::Refuse(Refusal { kind, reason })
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(NEVER)
}

impl Engine for Loaded {
    fn requests(&mut self, burst: &mut Burst, now: Duration) {
        if burst.is_empty() && self.due.is_none_or(|due| due > now) {
            return;
        }
        burst.refuse_if(|message| self.reads.refusal(message));
        let ends = |message: &&Message| {
            message.kind == Kind::Cancellation && self.held.iter().any(|held| held.call == message.call)
        };
        let ended = burst.messages().iter().filter(ends).count();
        let mut round = Round { now: nanos(now), held: self.held.len() - ended, release: 0, due: NEVER };
        if !self.decide(Way::Requests, &mut round, burst.messages()) {
            return self.refuse_all(burst);
        }
        let was_empty = self.held.is_empty();
        let first = self.refuse(burst);
        // No request passes another.
        let first = if was_empty { first.unwrap_or(Burst::LONGEST) } else { 0 };
        burst.hold_requests(first, &mut self.held);
        self.release(burst, round, now);
    }

    fn responses(&mut self, burst: &mut Burst, now: Duration) {
        let mut round = Round { now: nanos(now), held: self.held.len(), release: 0, due: NEVER };
        if self.decide(Way::Responses, &mut round, burst.messages()) {
            self.refuse(burst);
        } else {
            let reason: Arc<str> = format!("the engine {} has failed", self.handle.name()).into();
            burst.refuse_if(|_| Some(Refusal { kind: FailureKind::Failed, reason: Arc::clone(&reason) }));
        }
    }

    fn due(&self) -> Option<Duration> {
        self.due
    }

    fn reads(&self, method: u32) -> &[Path] {
        self.reads.paths(method)
    }

    fn configure(&mut self, settings: Settings) -> Result<(), Unsuitable> {
        let configured = self.handle.configure(&settings.to_string());
        self.due = Some(Duration::ZERO);
        configured
    }

    fn take_apart(self: Box<Self>) -> Parts {
        let Self { handle, held, .. } = *self;
        let name = handle.name().to_owned();
        let (version, state) = handle.take_apart().unwrap_or_else(|| {
            tracing::error!(engine = name, "an engine of a library has lost its state");
            Default::default()
        });
        Parts { version, state, held }
    }
}
