//! The states of the model, and the steps between them.

use super::participants::Role;
use super::store::Store;
use bertha_core::{Error, ErrorKind};
use bertha_negotiation::rendezvous::member::record::{self, RECORD, UPGRADE};
use bertha_negotiation::rendezvous::member::{Description, Event, Member, Recorded, Request, View};
use bertha_negotiation::rendezvous::{Outcome, Transaction, Write};
use stateright::{Model, Property};
use std::collections::{BTreeMap, BTreeSet};

/// A connection: its participants, and bounds on what may go wrong.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    pub(crate) roles: Vec<Role>,
    /// Largest number of participants that crash.
    pub(crate) crashes: usize,
    /// Largest number of entries that expire though their participants are alive: stopped, or cut off.
    pub(crate) suspicions: usize,
    /// Largest number of answers of the store that get lost, with or without their requests being carried
    /// out.
    pub(crate) losses: usize,
    /// True if staging may take too long, at any time. Staging always takes too long when nothing else can
    /// happen any more.
    pub(crate) time_runs_out: bool,
    /// The fault that is put into the protocol.
    pub(crate) flaw: Flaw,
}

/// The fault that is put into the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    Nothing,
    /// Participants presume the consent of all others, and so commit without it.
    ConsentIsPresumed,
    /// Transactions don't depend on the previous record.
    RecordIsNotCompared,
    /// A participant activates its own proposal at once. All others follow the protocol.
    OneIsHasty,
    /// Only its proposer can activate an upgrade.
    OnlyTheProposerCommits,
}

/// The whole state at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) store: Store,
    /// The participants; `None` in the place of a crashed participant.
    pub(crate) members: Vec<Option<Member>>,
    proposed: Vec<bool>,
    crashes: usize,
    suspicions: usize,
    losses: usize,
    pub(crate) seen: Seen,
}

/// The facts that the properties are about, and that no participant knows.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Seen {
    /// The stack of each round of each life.
    stacks: BTreeMap<(u64, u64), Description>,
    /// The participants whose owners staged each round, by their ids in the store.
    staged: BTreeMap<(u64, u64), BTreeSet<u64>>,
    pub(crate) commits: usize,
    pub(crate) refusals: usize,
    /// The first event that must not happen.
    pub(crate) wrong: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// A participant's request is carried out and answered; or the participant learns of a change, and reads.
    Proceed(usize),
    /// A participant proposes the stack of its role.
    Propose(usize),
    /// A participant stops for good.
    Crash(usize),
    /// The store drops a participant as gone that is not gone.
    Suspect(usize),
    /// The entry of a participant that has crashed expires.
    Expire(u64),
    /// Staging has taken too long.
    RunOutOfTime,
    /// A participant's request fails; the flag says if it was carried out.
    Lose(usize, bool),
}

impl Connection {
    /// Returns the state after `state` when this participant proceeds; `None` if it has nothing to do.
    fn proceed(&self, state: &State, number: usize) -> Option<State> {
        let mut next = state.clone();
        let Some(request) = self.request(&mut next, number) else {
            // The participant may have work that does not need the store.
            self.serve(&mut next, number);
            return (next != *state).then_some(next);
        };
        match request {
            Request::Transact(transaction) => {
                let outcome = self.carry_out(&mut next, number, &transaction);
                next.members[number].as_mut()?.handle_outcome(Ok(outcome));
            }
            Request::Renew { key, .. } => {
                let renewed = next.store.renew(&key);
                next.members[number].as_mut()?.handle_renewed(Ok(renewed));
            }
        }
        self.serve(&mut next, number);
        Some(next)
    }

    fn request(&self, state: &mut State, number: usize) -> Option<Request> {
        let revision = state.store.revision();
        let member = state.members[number].as_mut()?;
        member.poll_request().or_else(|| {
            member.handle_change(revision);
            member.poll_request()
        })
    }

    fn lose(&self, state: &State, number: usize, carried_out: bool) -> Option<State> {
        let mut next = state.clone();
        next.losses += 1;
        let Request::Transact(transaction) = self.request(&mut next, number)? else { return None };
        if transaction.writes().is_empty() {
            return None;
        }
        if carried_out {
            self.carry_out(&mut next, number, &transaction);
        }
        let member = next.members[number].as_mut()?;
        member.handle_outcome(Err(Error::new(ErrorKind::Unreachable, "lost")));
        member.tick();
        self.serve(&mut next, number);
        Some(next)
    }

    /// Carries a transaction out, changed by the flaw, and checks what it does to the record.
    fn carry_out(&self, state: &mut State, number: usize, transaction: &Transaction) -> Outcome {
        let before = View::of(state.store.snapshot());
        if self.flaw == Flaw::OnlyTheProposerCommits && commits_for_another(state, number, transaction) {
            return Outcome { applied: false, snapshot: state.store.snapshot().clone() };
        }
        let mut outcome = state.store.transact(&self.flawed(transaction));
        if self.flaw == Flaw::OneIsHasty && number == 0 {
            commit_at_once(&mut state.store);
        }
        let after = View::of(state.store.snapshot());
        if let (Recorded::Record(before), Recorded::Record(now)) = (&before.record, &after.record)
            && self.flaw != Flaw::OneIsHasty
            && before.life == now.life
            && before.round != now.round
        {
            let staged = state.seen.staged.entry((now.life, now.round)).or_default();
            if before.round > now.round {
                state.seen.wrong.get_or_insert("a committed round was rolled back");
            } else if !after.participants.keys().all(|id| staged.contains(id)) {
                state.seen.wrong.get_or_insert("a round was committed that not everyone had staged");
            }
        }
        if self.flaw == Flaw::ConsentIsPresumed {
            presume_consent(&mut outcome);
        }
        outcome
    }

    fn flawed(&self, transaction: &Transaction) -> Transaction {
        let skipped = |key: &str| self.flaw == Flaw::RecordIsNotCompared && key == RECORD;
        let conditions = transaction.conditions().iter().filter(|(key, _)| !skipped(key));
        let kept = conditions.fold(Transaction::new(), |kept, (key, version)| kept.expect(key, *version));
        transaction.writes().iter().fold(kept, |kept, (key, write)| match write {
            Write::Put { value, ttl: None } => kept.put(key, value.clone()),
            Write::Put { value, ttl: Some(ttl) } => kept.put_for(key, value.clone(), *ttl),
            Write::Delete => kept.delete(key),
        })
    }

    /// Does what an owner does about events.
    fn serve(&self, state: &mut State, number: usize) {
        let Some(member) = state.members[number].as_mut() else { return };
        let before = member.active().map(|known| (known.life, known.round));
        while let Some(event) = member.poll_event() {
            match event {
                Event::Stage { round, stack, .. } => {
                    let refuses = self.roles[number].refuses;
                    if refuses.is_some_and(|layer| layer == stack.to_string()) {
                        member.refuse(round, "the owner does not want to");
                    } else {
                        member.staged(round);
                        let life = life(&state.store);
                        state.seen.staged.entry((life, round)).or_default().insert(member.id());
                    }
                }
                Event::Joined(ref known) | Event::Commit(ref known) => {
                    state.seen.commits += usize::from(known.round > 1);
                    let stack =
                        state.seen.stacks.entry((known.life, known.round)).or_insert(known.stack.clone());
                    if *stack != known.stack {
                        state.seen.wrong.get_or_insert("two participants use two stacks in one round");
                    }
                    let staged = state.seen.staged.entry((known.life, known.round)).or_default();
                    // The participant acts on a snapshot that it has just read, so the store has not changed.
                    let all = View::of(state.store.snapshot()).participants;
                    let came_before = all.iter().filter(|(_, (_, presence))| presence.active < known.round);
                    if matches!(event, Event::Commit(_))
                        && !came_before.into_iter().all(|(id, _)| staged.contains(id))
                    {
                        state
                            .seen
                            .wrong
                            .get_or_insert("a participant switched though not everyone had staged");
                    }
                }
                Event::Refused { .. } => state.seen.refusals += 1,
                _ => {}
            }
        }
        state.seen.commits = state.seen.commits.min(1);
        state.seen.refusals = state.seen.refusals.min(1);
        let after = member.active().map(|known| (known.life, known.round));
        if let (Some(before), Some(after)) = (before, after)
            && before.0 == after.0
            && before.1 > after.1
        {
            state.seen.wrong.get_or_insert("a participant went back to an earlier round");
        }
    }

    /// Returns true if nothing happens any more, however much time passes: a participant that can act does so
    /// in the end, and an entry that has a time to live and is not renewed expires. No participant has to
    /// propose anything.
    pub(crate) fn is_at_rest(&self, state: &State) -> bool {
        !state.store.holds(UPGRADE) && self.has_stopped(state)
    }

    /// Returns true if nothing happens before the time for staging is over.
    fn has_stopped(&self, state: &State) -> bool {
        let all = 0..self.roles.len();
        gone(state).next().is_none() && all.into_iter().all(|number| self.proceed(state, number).is_none())
    }

    /// Returns true if every remaining participant uses the stack of the record, and no upgrade is left
    /// half-done.
    pub(crate) fn is_settled(&self, state: &State) -> bool {
        let view = View::of(state.store.snapshot());
        let mut left = state.members.iter().flatten().filter(|member| !member.is_gone()).peekable();
        match view.record {
            // If all participants are gone, the next newcomer handles the rest of their data.
            _ if left.peek().is_none() => true,
            Recorded::Record(record) => {
                record.proposal.is_none()
                    && left.all(|member| {
                        let known = member.active().map(|known| (known.life, known.round, &known.stack));
                        member.is_inside() && known == Some((record.life, record.round, &record.stack))
                    })
            }
            _ => false,
        }
    }
}

/// Returns the entries whose participants are gone.
fn gone(state: &State) -> impl Iterator<Item = u64> {
    let ids = View::of(state.store.snapshot()).participants.into_keys();
    ids.filter(|id| !state.members.iter().flatten().any(|member| member.id() == *id))
}

fn life(store: &Store) -> u64 {
    match View::of(store.snapshot()).record {
        Recorded::Record(record) => record.life,
        _ => 0,
    }
}

/// Returns true if this participant would activate an upgrade that another participant has proposed.
fn commits_for_another(state: &State, number: usize, transaction: &Transaction) -> bool {
    let mut after = state.store.clone();
    after.transact(transaction);
    let [before, after] = [&state.store, &after].map(|store| View::of(store.snapshot()).record);
    let (Recorded::Record(before), Recorded::Record(after)) = (before, after) else { return false };
    let proposer = before.proposal.map(|proposal| proposal.proposer);
    after.round > before.round && proposer != state.members[number].as_ref().map(Member::id)
}

/// Activates the upgrade under way, without regard to the participants that have staged it.
fn commit_at_once(store: &mut Store) {
    let Recorded::Record(record) = View::of(store.snapshot()).record else { return };
    let Some(proposal) = record.proposal.clone() else { return };
    let hasty = record::Record { round: proposal.round, stack: proposal.stack, proposal: None, ..record };
    let mut bytes = vec![record::VERSION];
    bytes.extend(postcard::to_allocvec(&hasty).unwrap());
    store.transact(&Transaction::new().put(RECORD, bytes));
}

/// Makes a snapshot look as if all participants had agreed to the upgrade under way and to the active stack.
fn presume_consent(outcome: &mut Outcome) {
    for (key, entry) in &mut outcome.snapshot.entries {
        if record::participant_of(key).is_some() {
            let presence = record::Presence { active: u64::MAX, accepted: 0, check: 0 };
            entry.value = vec![record::VERSION];
            entry.value.extend(postcard::to_allocvec(&presence).unwrap());
        }
    }
}

impl Model for Connection {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            store: Store::default(),
            members: self.roles.iter().enumerate().map(|(number, role)| Some(role.member(number))).collect(),
            proposed: vec![false; self.roles.len()],
            crashes: 0,
            suspicions: 0,
            losses: 0,
            seen: Seen::default(),
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Step>) {
        for (number, member) in state.members.iter().enumerate() {
            let Some(member) = member else { continue };
            actions.push(Step::Proceed(number));
            if !state.proposed[number] && self.roles[number].proposes.is_some() {
                actions.push(Step::Propose(number));
            }
            if state.crashes < self.crashes {
                actions.push(Step::Crash(number));
            }
            if state.suspicions < self.suspicions && state.store.holds(&record::presence_key(member.id())) {
                actions.push(Step::Suspect(number));
            }
            if state.losses < self.losses {
                actions.extend([Step::Lose(number, false), Step::Lose(number, true)]);
            }
        }
        actions.extend(gone(state).map(Step::Expire));
        // If nothing else is left to happen, staging takes too long.
        if state.store.holds(UPGRADE) && (self.time_runs_out || self.has_stopped(state)) {
            actions.push(Step::RunOutOfTime);
        }
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        if let Step::Proceed(number) = step {
            return self.proceed(state, number);
        }
        if let Step::Lose(number, carried_out) = step {
            return self.lose(state, number, carried_out);
        }
        let mut next = state.clone();
        match step {
            Step::Propose(number) => {
                let role = &self.roles[number];
                next.members[number].as_mut()?.propose(&role.picks(role.proposes?)).ok()?;
                next.proposed[number] = true;
            }
            Step::Crash(number) => {
                next.members[number] = None;
                next.crashes += 1;
            }
            Step::Suspect(number) => {
                next.store.expire(&record::presence_key(state.members[number].as_ref()?.id()));
                next.suspicions += 1;
            }
            Step::Expire(id) => next.store.expire(&record::presence_key(id)),
            Step::RunOutOfTime => next.store.expire(UPGRADE),
            Step::Proceed(_) | Step::Lose(..) => return None,
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("nothing wrong happens", |_, state: &State| state.seen.wrong.is_none()),
            // Together with the absence of circles, the property holds in every run, unless a run forever
            // keeps a participant from acting.
            Property::always("whatever is begun comes to an end", |model: &Self, state: &State| {
                !model.is_at_rest(state) || model.is_settled(state)
            }),
            Property::sometimes("an upgrade commits", |_, state: &State| state.seen.commits > 0),
            Property::sometimes("an upgrade is refused", |_, state: &State| state.seen.refusals > 0),
            Property::sometimes("all comes to rest", |model: &Self, state: &State| model.is_at_rest(state)),
        ]
    }
}
