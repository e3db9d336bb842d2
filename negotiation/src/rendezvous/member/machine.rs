//! One participant of a connection, as a state machine.

use super::backoff::Backoff;
use super::event::{Event, InForce};
use super::ids::Ids;
use super::own_stack::OwnStack;
use super::record::presence_key;
use super::view::View;
use crate::rendezvous::store::limits;
use crate::rendezvous::store::{Outcome, Revision, Snapshot, Transaction};
use bertha_core::{Error, ErrorKind};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Number of races that transactions may lose in a row before the participant pauses until the next tick.
const RACES: usize = 100;

/// Number of events that may wait before the participant only renews its lease.
const EVENTS: usize = 64;

/// Times and bounds that a participant writes into the store or keeps itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MemberSettings {
    /// Time for which the participant counts as present after its last renewal, on the store's clock.
    pub lease: Duration,
    /// Time that all participants together have to stage an upgrade that this participant proposes, on the
    /// store's clock.
    pub staging: Duration,
    /// Number of participants at which a further participant is turned away; at most
    /// [`limits::PARTICIPANTS`].
    pub participants: usize,
    /// True to propose the stack in force again when the leader of its round has gone.
    pub renews: bool,
}

/// One participant of a connection, without I/O and without a clock.
///
/// Its methods are of four kinds. Commands of its owner: [`propose`](Self::propose),
/// [`staged`](Self::staged), [`refuse`](Self::refuse), [`leave`](Self::leave). Answers and news of the store:
/// `handle_*`; and [`tick`](Self::tick), three times per lease. Requests to the store:
/// [`poll_request`](Self::poll_request), one at a time. Events: [`poll_event`](Self::poll_event).
///
/// The next request follows from the newest snapshot alone, not from earlier requests. So a request whose
/// outcome is unknown, a lost race, and a proposer that crashed are no special cases: any participant takes a
/// step that it sees missing. All of its transactions depend on its own entry, so a participant that has
/// expired changes nothing before it has joined again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Member {
    pub(super) own: Arc<OwnStack>,
    pub(super) settings: MemberSettings,
    pub(super) ids: Ids,
    /// The participant's id, drawn anew for each stay, so that the entry of an earlier stay is never taken
    /// for the current entry.
    pub(super) id: u64,
    /// The life of a record that this participant makes, drawn anew for each stay, so that repeating the
    /// transaction is idempotent.
    pub(super) life: u64,
    pub(super) membership: Membership,
    pub(super) active: Option<InForce>,
    pub(super) staged: Option<Staged>,
    /// The stack to propose.
    pub(super) intent: Option<Intent>,
    /// The participant's own proposal, until it is decided.
    pub(super) proposed: Option<OwnProposal>,
    /// The last stack that the participant staged and that then failed. After a fault the record may still
    /// say that every participant agreed to it; this participant then has to follow.
    pub(super) withdrawn: Option<InForce>,
    /// The stack that the policies proposed among the present participants, and that came into force.
    pub(super) tried: Option<Vec<u8>>,
    /// True if the participant wants another round, if necessary with the same stack: it has no part in the
    /// round in force.
    pub(super) wants_round: bool,
    /// Failed upgrades.
    pub(super) backoff: Backoff,
    pub(super) view: Option<View>,
    /// The ids of all participants, in ascending order.
    pub(super) present: Vec<u64>,
    /// True if the participant corrected the record since the last tick. It does so once per tick, so that a
    /// faulty participant can't keep the other participants busy.
    pub(super) restored: bool,
    pub(super) events: VecDeque<Event>,
    in_flight: bool,
    /// The latest revision announced while a request was in flight; the answer may be older or newer.
    announced: Revision,
    missed: bool,
    /// True if the store has changed since the view.
    stale: bool,
    /// True if nothing is to be done before the next tick.
    pub(super) paused: bool,
    renew: bool,
    store_lost: bool,
    races: usize,
}

/// The membership of a participant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Membership {
    /// The participant wants to join.
    Outside,
    /// The participant asked to join, in this way.
    Entering(Admission),
    /// The participant has joined.
    Inside {
        /// True if it has joined to propose its stack, since it can't run the stack in force.
        applies: bool,
    },
    /// The participant applied without success, although no participant refused: it makes way for other
    /// participants, and joins again later.
    Retreating,
    /// The participant wants to leave, and then reports this event.
    Leaving(Event),
    /// The participant has left.
    Gone,
}

/// The way in which a participant joins.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Admission {
    /// With the stack in force.
    Adopts(InForce),
    /// With a proposal for this round.
    Applies(u64),
}

/// The upgrade under way, as this participant deals with it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Staged {
    pub(super) stack: InForce,
    pub(super) answer: Answer,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Answer {
    /// The owner was asked to stage it.
    Asked,
    /// The owner is ready.
    Ready,
    /// The stack can't be run, or the owner refused it.
    Refused(String),
}

/// A stack that the participant wants to be in force.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Intent {
    pub(super) picks: Vec<u8>,
    pub(super) by_policy: bool,
}

/// The upgrade under way, if it is this participant's own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct OwnProposal {
    pub(super) round: u64,
    /// The intent; `None` if the participant has another intent by now, as when the store was slow to confirm
    /// this proposal.
    pub(super) intent: Option<Intent>,
}

/// A request to the store.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Request {
    /// A transaction to carry out; without writes it is a read. The answer goes to
    /// [`Member::handle_outcome`].
    Transact(Transaction),
    /// An entry to renew. The answer goes to [`Member::handle_renewed`].
    Renew {
        /// The key.
        key: String,
        /// The new time to live.
        ttl: Duration,
    },
}

impl Member {
    /// Makes a participant that wants to join. It draws its ids from the `random` bits.
    pub fn new(own: OwnStack, settings: MemberSettings, random: u64) -> Self {
        let mut ids = Ids(random);
        let participants = settings.participants.min(limits::PARTICIPANTS);
        Self {
            own: Arc::new(own),
            settings: MemberSettings { participants, ..settings },
            id: ids.draw(),
            life: ids.draw(),
            ids,
            membership: Membership::Outside,
            active: None,
            staged: None,
            intent: None,
            proposed: None,
            withdrawn: None,
            tried: None,
            wants_round: false,
            backoff: Backoff::default(),
            view: None,
            present: Vec::new(),
            restored: false,
            events: VecDeque::new(),
            in_flight: false,
            announced: Revision::default(),
            missed: false,
            stale: false,
            paused: false,
            renew: false,
            store_lost: false,
            races: 0,
        }
    }

    /// Returns the participant's id in the store. The id changes when the participant has expired and joined
    /// again.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the stack in force, as far as this participant knows; `None` before it has joined.
    pub fn active(&self) -> Option<&InForce> {
        self.active.as_ref()
    }

    /// Returns true if the participant has joined, and has not expired or left since.
    pub fn is_inside(&self) -> bool {
        matches!(self.membership, Membership::Inside { applies: false })
    }

    /// Returns true if the participant has left for good.
    pub fn is_gone(&self) -> bool {
        self.membership == Membership::Gone
    }

    /// Proposes to use these alternatives of the participant's own stack, once no other upgrade is under way.
    /// The answer is a [`Commit`](Event::Commit) or a [`Refused`](Event::Refused).
    ///
    /// # Errors
    /// [`Exhausted`](ErrorKind::Exhausted) while a proposal of this participant is under way;
    /// [`Invalid`](ErrorKind::Invalid) if the participant has not joined, or `picks` are in force or are not
    /// picks of its stack; the errors of [`Description::of`](super::Description::of).
    pub fn propose(&mut self, picks: &[u8]) -> Result<(), Error> {
        let invalid = |what: &'static str| Err(Error::new(ErrorKind::Invalid, what).at("rendezvous"));
        let stack = self.own.describe(picks)?;
        let Some(active) = self.active.as_ref().filter(|_| self.is_inside()) else {
            return invalid("only a participant that is in can propose");
        };
        if active.stack == stack {
            return invalid("this stack is in force already");
        }
        if self.proposed.is_some() || self.intent.as_ref().is_some_and(|intent| !intent.by_policy) {
            let what = "a proposal of this participant is under way already";
            return Err(Error::new(ErrorKind::Exhausted, what).at("rendezvous"));
        }
        self.intent = Some(Intent { picks: picks.to_vec(), by_policy: false });
        Ok(())
    }

    /// Proposes another round as soon as possible, with the stack in force or a preferred stack, and repeats
    /// this until a round that this participant has staged is in force.
    pub fn begin_anew(&mut self) {
        self.wants_round = true;
        self.consult_policies();
    }

    /// Records that the owner is ready to switch to the stack of `round`. Ignored for any round but the round
    /// of the last request.
    pub fn staged(&mut self, round: u64) {
        self.answer(round, Answer::Ready);
    }

    /// Records that the owner can't run the stack of `round` after all. Ignored for any round but the round
    /// of the last request.
    pub fn refuse(&mut self, round: u64, reason: impl Into<String>) {
        self.answer(round, Answer::Refused(reason.into()));
    }

    fn answer(&mut self, round: u64, answer: Answer) {
        if let Some(staged) = &mut self.staged
            && staged.stack.round == round
            && staged.answer == Answer::Asked
        {
            staged.answer = answer;
        }
    }

    /// Leaves. The other participants go on with the stack in force.
    pub fn leave(&mut self) {
        self.go(Event::Left);
    }

    /// Leaves, and reports `why` after leaving.
    pub(super) fn go(&mut self, why: Event) {
        if !matches!(self.membership, Membership::Leaving(_) | Membership::Gone) {
            self.membership = Membership::Leaving(why);
            self.paused = false;
        }
    }

    /// Handles the store's answer to a [`Request::Transact`].
    pub fn handle_outcome(&mut self, outcome: Result<Outcome, Error>) {
        self.in_flight = false;
        match outcome {
            Ok(outcome) => {
                self.races = if outcome.applied { 0 } else { self.races + 1 };
                if self.races >= RACES {
                    self.races = 0;
                    self.paused = true;
                }
                self.store_answered();
                self.stale = self.announced > outcome.snapshot.revision;
                self.view = Some(View::of(&outcome.snapshot));
                self.follow();
                // A participant that has not joined yet will send a transaction, and so get a newer view.
                self.stale |= self.missed && matches!(self.membership, Membership::Inside { .. });
            }
            Err(error) => self.store_failed(&error),
        }
    }

    /// Handles the store's answer to a [`Request::Renew`].
    pub fn handle_renewed(&mut self, renewed: Result<Option<Revision>, Error>) {
        self.in_flight = false;
        match renewed {
            Ok(Some(revision)) => {
                self.store_answered();
                self.handle_change(revision.max(self.announced));
                self.stale |= self.missed;
            }
            Ok(None) => {
                self.store_answered();
                self.stale = true;
            }
            Err(error) => self.store_failed(&error),
        }
    }

    /// Handles news that the store has reached this revision.
    pub fn handle_change(&mut self, revision: Revision) {
        if self.in_flight {
            self.announced = self.announced.max(revision);
        } else {
            self.stale |= self.view.as_ref().is_none_or(|view| revision > view.revision);
        }
    }

    /// Handles news that changes may have been missed: the participant reads the store again.
    pub fn handle_missed(&mut self) {
        self.missed |= self.in_flight;
        self.stale |= !self.in_flight;
    }

    /// Handles a tick: a third of the lease has passed on the caller's clock, so that it is time to renew the
    /// lease, and to retry failed requests.
    pub fn tick(&mut self) {
        self.renew = matches!(self.membership, Membership::Inside { .. });
        self.stale |= !self.renew;
        self.paused = false;
        self.restored = false;
        if self.backoff.tick() {
            self.consult_policies();
        }
    }

    /// Returns the next request to the store; `None` while an answer is outstanding.
    pub fn poll_request(&mut self) -> Option<Request> {
        if self.in_flight || self.membership == Membership::Gone {
            return None;
        }
        let request = self.next_request();
        if request.is_some() {
            self.in_flight = true;
            self.announced = Revision::default();
            self.missed = false;
        }
        request
    }

    fn next_request(&mut self) -> Option<Request> {
        if std::mem::take(&mut self.renew) {
            return Some(Request::Renew { key: presence_key(self.id), ttl: self.settings.lease });
        }
        if self.paused || self.events.len() >= EVENTS {
            return None;
        }
        if self.stale {
            return Some(Request::Transact(Transaction::new()));
        }
        // Without knowledge the connection is assumed to be empty. If that assumption is wrong, the
        // transaction fails and its answer has the entries.
        let view = self.view.take().unwrap_or_else(|| View::of(&Snapshot::default()));
        let transaction = match &self.membership {
            Membership::Outside | Membership::Entering(_) => self.enter(&view),
            Membership::Inside { .. } => self.act(&view),
            Membership::Retreating | Membership::Leaving(_) => self.part(&view),
            Membership::Gone => None,
        };
        self.view = Some(view);
        transaction.map(Request::Transact)
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn store_answered(&mut self) {
        if std::mem::take(&mut self.store_lost) {
            self.events.push_back(Event::StoreBack);
        }
    }

    fn store_failed(&mut self, error: &Error) {
        self.stale = true;
        self.paused = true;
        if !self.store_lost {
            self.store_lost = true;
            let kind = error.kind();
            let reason = error.context().into();
            self.events.push_back(Event::StoreLost { kind, reason });
        }
    }
}
