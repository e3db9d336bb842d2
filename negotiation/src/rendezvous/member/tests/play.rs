//! Participants and a store without timers: what a participant reports and leaves in the store.

use super::super::record::{self, Presence, Proposal, RECORD, Record, UPGRADE, presence_key};
use super::super::{Event, InForce, Member, MemberSettings, OwnStack, Request};
use super::{choice, layer};
use crate::rendezvous::store::{Entry, Outcome, Revision, Snapshot, Transaction, Write};
use bertha_core::{Error, ErrorKind, Node, NumParticipantsAtMost, Preference};
use std::sync::Arc;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(3);

/// The behaviour of a participant's owner that is asked to stage a stack.
#[derive(Clone, Copy)]
enum Owner {
    Ready,
    Refuses(&'static str),
    Silent,
}

/// The participants, their owners, and the store that they share.
struct Play {
    store: Snapshot,
    members: Vec<Member>,
    owners: Vec<Owner>,
    /// The reports of each participant since they were last taken.
    reports: Vec<Vec<String>>,
}

/// Returns the layers among which a participant can run a single layer, the preferred layer first.
fn layers(names: &str) -> Vec<Node> {
    let named = |name| match name {
        'a' => layer("a"),
        'b' => layer("b"),
        _ => layer("c"),
    };
    let mut names = names.chars().rev().map(named);
    let last = names.next().unwrap();
    names.fold(last, |rest, first| vec![choice(first, rest, 0)])
}

fn settings() -> MemberSettings {
    MemberSettings { lease: LEASE, staging: 2 * LEASE, participants: 9, renews: false }
}

fn member(number: u64, nodes: Vec<Node>, settings: MemberSettings) -> Member {
    Member::new(OwnStack::new(nodes).unwrap(), settings, number)
}

impl Play {
    /// Makes participants with these layers, and lets them join in this order.
    fn joined(all: &[&str]) -> Self {
        let numbered = all.iter().zip(1..);
        Self::of(numbered.map(|(names, number)| member(number, layers(names), settings())).collect())
    }

    fn of(members: Vec<Member>) -> Self {
        let mut play =
            Self { store: Snapshot::default(), members: Vec::new(), owners: Vec::new(), reports: Vec::new() };
        for member in members {
            play.add(member);
        }
        play
    }

    /// Lets a participant join.
    fn add(&mut self, member: Member) {
        self.members.push(member);
        self.owners.push(Owner::Ready);
        self.reports.push(Vec::new());
        self.run();
    }

    /// Lets all participants take their steps until each of them waits.
    fn run(&mut self) {
        for _ in 0..1_000 {
            // Every participant takes its step in each round.
            let moved = (0..self.members.len()).filter(|at| self.step(*at)).count();
            if moved == 0 {
                return;
            }
        }
        panic!("the participants never rest: {:?}", self.reports);
    }

    fn step(&mut self, at: usize) -> bool {
        let request = self.members[at].poll_request();
        let has_asked = request.is_some();
        match request {
            None => {}
            Some(Request::Renew { key, ttl }) => {
                assert_eq!((&key, ttl), (&presence_key(self.members[at].id()), LEASE));
                let renewed = self.store.entries.contains_key(&key).then_some(self.store.revision);
                self.members[at].handle_renewed(Ok(renewed));
            }
            Some(Request::Transact(transaction)) => {
                let outcome = self.transact(&transaction);
                self.members[at].handle_outcome(Ok(outcome));
            }
        }
        let mut has_reported = false;
        while let Some(event) = self.members[at].poll_event() {
            has_reported = true;
            self.reports[at].push(report(&self.members[at], &event));
            if let Event::Stage { round, .. } = event {
                match self.owners[at] {
                    Owner::Ready => self.members[at].staged(round),
                    Owner::Refuses(reason) => self.members[at].refuse(round, reason),
                    Owner::Silent => {}
                }
            }
        }
        has_asked || has_reported
    }

    fn transact(&mut self, transaction: &Transaction) -> Outcome {
        transaction.check().unwrap();
        let applied = self.store.satisfies(transaction);
        if applied && !transaction.writes().is_empty() {
            for (key, write) in transaction.writes() {
                match write {
                    Write::Put { value, ttl } => {
                        let expected = match &key[..] {
                            RECORD => None,
                            UPGRADE => Some(2 * LEASE),
                            _ => Some(LEASE),
                        };
                        assert_eq!(*ttl, expected, "{key}");
                        let version = Revision(self.store.revision.0 + 1);
                        self.store.entries.insert(key.clone(), Entry { version, value: value.clone() });
                    }
                    Write::Delete => drop(self.store.entries.remove(key)),
                }
            }
            self.change();
        }
        Outcome { applied, snapshot: self.store.clone() }
    }

    fn change(&mut self) {
        self.store.revision.0 += 1;
        self.members.iter_mut().for_each(|member| member.handle_change(self.store.revision));
    }

    /// Removes an entry, as when it expires, and lets the participants go on.
    fn remove(&mut self, key: &str) {
        assert!(self.store.entries.remove(key).is_some(), "{key} was not there");
        self.change();
        self.run();
    }

    /// Writes an entry, as a participant that does not keep to the protocol, and lets the others go on.
    fn write(&mut self, key: &str, value: Vec<u8>) {
        let version = Revision(self.store.revision.0 + 1);
        self.store.entries.insert(key.into(), Entry { version, value });
        self.change();
        self.run();
    }

    fn tick(&mut self) {
        self.members.iter_mut().for_each(Member::tick);
        self.run();
    }

    fn propose(&mut self, at: usize, picks: &[u8]) {
        self.members[at].propose(picks).unwrap();
        self.run();
    }

    fn leave(&mut self, at: usize) {
        self.members[at].leave();
        self.run();
    }

    fn id(&self, at: usize) -> u64 {
        self.members[at].id()
    }

    fn record(&self) -> Record {
        record::decode(&self.store.entries[RECORD].value).unwrap()
    }

    /// Takes the reports of a participant.
    fn reports(&mut self, at: usize) -> Vec<String> {
        std::mem::take(&mut self.reports[at])
    }

    /// Takes and drops the reports so far.
    fn forget(&mut self) {
        self.reports.iter_mut().for_each(Vec::clear);
    }
}

/// Returns the text of an event of `member`.
fn report(member: &Member, event: &Event) -> String {
    let in_force = |what, InForce { round, stack, picks, leader, own_id, .. }: &InForce| {
        assert_eq!((&member.own.describe(picks).unwrap(), *own_id), (stack, member.id()));
        let leads = if *leader == member.id() { ", leads" } else { "" };
        format!("{what} {round} {stack}{leads}")
    };
    match event {
        Event::Joined(stack) => in_force("joined", stack),
        Event::Commit(stack) => in_force("commit", stack),
        Event::Stage { round, stack, picks, leads } => {
            assert_eq!(member.own.describe(picks).unwrap(), *stack);
            format!("stage {round} {stack}{}", if *leads { ", leads" } else { "" })
        }
        Event::Abandoned { round } => format!("abandoned {round}"),
        Event::Refused { round, reason } => format!("refused {round}: {reason}"),
        Event::Participants(ids) => {
            assert!(ids.is_sorted() && ids.contains(&member.id()));
            format!("participants {}", ids.len())
        }
        Event::Expired => "expired".into(),
        Event::StoreLost { kind, reason } => format!("lost {kind:?}: {reason}"),
        Event::StoreBack => "back".into(),
        Event::Fault { reason } => format!("fault: {reason}"),
        Event::Left => "left".into(),
        Event::Failed { kind, reason } => format!("failed {kind:?}: {reason}"),
    }
}

#[test]
fn the_first_participant_makes_the_record_and_the_last_one_removes_it() {
    let mut play = Play::joined(&["ab", "ba"]);
    assert_eq!(play.reports(0), ["joined 1 a, leads", "participants 1", "participants 2"]);
    assert_eq!(play.reports(1), ["joined 1 a", "participants 2"]);
    assert!(play.members.iter().all(|member| member.is_inside() && !member.is_gone()));
    let record = play.record();
    assert_eq!((record.round, record.last, record.leader), (1, 1, play.id(0)));
    assert!(!play.store.entries.contains_key(UPGRADE));
    play.leave(0);
    assert_eq!((play.reports(0), play.reports(1)), (vec!["left".into()], vec!["participants 1".into()]));
    assert!(play.members[0].is_gone() && !play.members[0].is_inside());
    assert_eq!(play.record(), record);
    play.leave(1);
    assert_eq!(play.reports(1), ["left"]);
    assert!(play.store.entries.is_empty());
    play.members[1].leave();
    play.tick();
    assert!(play.reports(1).is_empty() && play.members[1].is_gone(), "it left once");
}

#[test]
fn one_participant_too_many_is_turned_away() {
    let mut play = Play::joined(&["a", "a"]);
    for (participants, text) in [(2, Some("failed Exhausted: there are 2 participants already")), (3, None)] {
        play.add(member(9, layers("a"), MemberSettings { participants, ..settings() }));
        let at = play.members.len() - 1;
        assert_eq!(play.members[at].is_gone(), text.is_some());
        if let Some(text) = text {
            assert_eq!(play.reports(at), [text]);
        }
    }
}

#[test]
fn a_proposal_comes_into_force_once_all_are_ready() {
    let mut play = Play::joined(&["ab", "ba"]);
    play.forget();
    play.owners[0] = Owner::Silent;
    play.propose(1, &[0]);
    assert_eq!(
        (play.reports(0), play.reports(1)),
        (vec!["stage 2 b".into()], vec!["stage 2 b, leads".into()])
    );
    assert!(play.store.entries.contains_key(UPGRADE));
    let error = play.members[1].propose(&[0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exhausted);
    play.members[0].staged(1);
    play.members[0].staged(3);
    play.run();
    assert!(play.reports(0).is_empty(), "another round was staged");
    play.members[0].staged(2);
    play.run();
    assert_eq!(
        (play.reports(0), play.reports(1)),
        (vec!["commit 2 b".into()], vec!["commit 2 b, leads".into()])
    );
    let record = play.record();
    assert_eq!((record.round, record.last, record.leader, record.proposal), (2, 2, play.id(1), None));
    assert!(!play.store.entries.contains_key(UPGRADE));
    for member in &play.members {
        let active = member.active().unwrap();
        assert_eq!((active.round, active.leads()), (2, active.own_id == record.leader));
    }
}

#[test]
fn only_another_stack_of_a_participant_that_is_in_can_be_proposed() {
    let mut outside = member(1, layers("ab"), settings());
    assert_eq!(outside.propose(&[1]).unwrap_err().kind(), ErrorKind::Invalid);
    assert!(outside.active().is_none() && !outside.is_inside());
    let mut play = Play::joined(&["ab"]);
    for picks in [&[0][..], &[2], &[], &[0, 0]] {
        assert_eq!(play.members[0].propose(picks).unwrap_err().kind(), ErrorKind::Invalid, "{picks:?}");
    }
    play.members[0].propose(&[1]).unwrap();
    assert_eq!(play.members[0].propose(&[1]).unwrap_err().kind(), ErrorKind::Exhausted);
    play.forget();
    play.run();
    assert_eq!(play.reports(0), ["stage 2 b, leads", "commit 2 b, leads"]);
}

#[test]
fn a_refusal_leaves_the_stack_in_force() {
    let mut play = Play::joined(&["ab", "ba"]);
    play.forget();
    play.owners[0] = Owner::Refuses("no memory");
    play.propose(1, &[0]);
    let refused = format!("refused 2: participant {:016x} refuses: no memory", play.id(0));
    assert_eq!(play.reports(0), ["stage 2 b"]);
    assert_eq!(play.reports(1), ["stage 2 b, leads", "abandoned 2", &refused]);
    let record = play.record();
    assert_eq!((record.round, record.last, &record.proposal), (1, 2, &None));
    assert_eq!(
        record.refusal.as_ref().map(|refusal| (refusal.round, refusal.by)),
        Some((2, Some(play.id(0))))
    );
    assert!(!play.store.entries.contains_key(UPGRADE));
    // Answers that come late say nothing any more.
    play.members[0].staged(2);
    play.members[1].refuse(2, "late");
    play.tick();
    assert_eq!(play.record(), record);
    play.owners[0] = Owner::Ready;
    play.propose(1, &[0]);
    assert_eq!(play.reports(1), ["stage 3 b, leads", "commit 3 b, leads"]);
}

#[test]
fn a_stack_that_a_participant_can_not_run_is_refused_without_its_owner() {
    let mut play = Play::joined(&["a", "ba"]);
    play.forget();
    play.propose(1, &[0]);
    assert!(play.reports(0).is_empty());
    let reports = play.reports(1);
    assert_eq!(reports[..2], ["stage 2 b, leads", "abandoned 2"]);
    assert!(
        reports[2].starts_with(&format!("refused 2: participant {:016x} refuses: ", play.id(0))),
        "{reports:?}"
    );
}

#[test]
fn an_upgrade_that_takes_too_long_names_whoever_was_late() {
    let mut play = Play::joined(&["ab", "ba", "ab"]);
    play.forget();
    (play.owners[0], play.owners[2]) = (Owner::Silent, Owner::Silent);
    play.propose(1, &[0]);
    play.remove(UPGRADE);
    let mut late = [play.id(0), play.id(2)];
    late.sort();
    let refused = format!("refused 2: not staged in time by {:016x}, {:016x}", late[0], late[1]);
    assert_eq!(play.reports(0), ["stage 2 b", "abandoned 2"]);
    assert_eq!(play.reports(1), ["stage 2 b, leads", "abandoned 2", &refused]);
    assert_eq!(play.record().refusal.unwrap().by, None);
}

#[test]
fn an_applicant_that_can_not_run_the_stack_in_force_brings_its_own() {
    let mut play = Play::joined(&["ab", "b"]);
    assert_eq!(play.reports(0)[2..], ["participants 2", "stage 2 b", "commit 2 b"]);
    assert_eq!(play.reports(1), ["participants 2", "stage 2 b, leads", "joined 2 b, leads"]);
    assert!(play.members[1].is_inside() && !play.store.entries.contains_key(UPGRADE));
}

#[test]
fn an_applicant_that_is_refused_leaves_and_one_that_nobody_answered_comes_again() {
    for (owner, is_late) in [(Owner::Refuses("no"), false), (Owner::Silent, true)] {
        let mut play = Play::joined(&["ab"]);
        play.owners[0] = owner;
        play.add(member(7, layers("b"), settings()));
        let first = play.id(1);
        if is_late {
            assert!(play.store.entries.contains_key(UPGRADE), "there is a time within which to answer");
            assert!(!play.members[1].is_inside(), "it has only applied");
            play.remove(UPGRADE);
            assert_eq!(play.reports(1), ["participants 2", "stage 2 b, leads", "abandoned 2"]);
            assert_eq!(play.store.entries.len(), 2, "it makes way");
            assert_ne!(play.id(1), first);
            play.owners[0] = Owner::Ready;
            play.tick();
            assert_eq!(play.reports(1), ["participants 2", "stage 3 b, leads", "joined 3 b, leads"]);
        } else {
            let failed = format!("failed Refused: participant {:016x} refuses: no", play.id(0));
            assert_eq!(play.reports(1), ["participants 2", "stage 2 b, leads", "abandoned 2", &failed]);
            assert!(play.members[1].is_gone());
        }
    }
}

#[test]
fn nobody_joins_during_an_upgrade() {
    let mut play = Play::joined(&["ab", "ba"]);
    play.owners[0] = Owner::Silent;
    play.propose(1, &[0]);
    play.add(member(9, layers("ab"), settings()));
    play.tick();
    assert!(play.reports(2).is_empty());
    play.members[0].staged(2);
    play.run();
    play.tick();
    assert_eq!(play.reports(2), ["joined 2 b", "participants 3"]);
}

#[test]
fn a_participant_that_expired_joins_again_with_another_id() {
    let mut play = Play::joined(&["ab", "ba"]);
    play.forget();
    let before = play.id(1);
    play.remove(&presence_key(before));
    assert_eq!(play.reports(1), ["expired", "joined 1 a", "participants 2"]);
    assert_ne!(play.id(1), before);
    assert_eq!(play.reports(0).last().unwrap(), "participants 2");
}

#[test]
fn a_proposer_that_expires_hears_that_its_proposal_is_refused() {
    let mut play = Play::joined(&["ab", "ba"]);
    play.forget();
    play.owners[1] = Owner::Silent;
    play.propose(1, &[0]);
    play.remove(&presence_key(play.id(1)));
    let reports = play.reports(1);
    let refused = "refused 2: the proposer expired in the store";
    assert_eq!(reports[..4], ["stage 2 b, leads", "abandoned 2", refused, "expired"]);
    // The other participant was ready, and is alone.
    assert_eq!(reports[4..], ["joined 2 b", "participants 2"]);
    assert!(play.reports(0).contains(&"commit 2 b".into()));
}

#[test]
fn participants_that_all_expired_go_on_from_their_record() {
    let mut play = Play::joined(&["ab", "ba"]);
    play.owners[0] = Owner::Silent;
    play.propose(1, &[0]);
    play.forget();
    let life = play.record().life;
    for at in 0..2 {
        play.store.entries.remove(&presence_key(play.id(at)));
    }
    play.store.entries.remove(UPGRADE);
    play.change();
    play.run();
    let record = play.record();
    assert_eq!((record.life, record.round, record.last, record.proposal), (life, 1, 2, None));
    assert_eq!(record.refusal.unwrap().reason, "everyone expired");
    for (at, leads) in [(0, false), (1, false)] {
        let reports = play.reports(at);
        assert!(reports.contains(&"expired".into()), "{reports:?}");
        assert!(
            reports.contains(&format!("joined 1 a{}", if leads { ", leads" } else { "" })),
            "{reports:?}"
        );
    }
}

#[test]
fn whoever_finds_only_the_record_of_strangers_makes_another_life_with_later_rounds() {
    let mut play = Play::joined(&["ab"]);
    let strange = Record { life: 1, round: 70, last: 77, ..play.record() };
    play.forget();
    play.store.entries.remove(&presence_key(play.id(0)));
    play.write(RECORD, record::encode(&strange).unwrap());
    assert_eq!(play.reports(0), ["expired", "joined 78 a, leads", "participants 1"]);
    assert_ne!(play.record().life, 1);
}

#[test]
fn a_record_that_is_gone_or_malformed_is_written_again_once_per_tick() {
    let mut play = Play::joined(&["ab"]);
    let record = play.record();
    play.forget();
    play.remove(RECORD);
    assert_eq!((play.reports(0), play.record()), (vec!["fault: the record is gone".into()], record.clone()));
    play.write(RECORD, vec![9]);
    assert!(play.reports(0).is_empty(), "once per tick");
    assert_eq!(play.store.entries[RECORD].value, [9]);
    play.tick();
    let fault = "fault: the record is malformed: it has version 9, and this library reads version 2";
    assert_eq!((play.reports(0), play.record()), (vec![fault.into()], record.clone()));
    for bytes in [vec![], vec![record::VERSION], [&record::encode(&record).unwrap()[..], &[0]].concat()] {
        play.tick();
        play.write(RECORD, bytes);
        assert!(play.reports(0)[0].starts_with("fault: the record is malformed: "));
        assert_eq!(play.record(), record);
    }
}

#[test]
fn a_record_that_contradicts_what_was_agreed_is_corrected() {
    let mut play = Play::joined(&["ab", "ab"]);
    play.propose(0, &[1]);
    let right = play.record();
    let other = Play::joined(&["a"]).record().stack;
    let far = 2 + (1 << 32);
    let cases = [
        (Record { life: 1, last: 9, ..right.clone() }, 2),
        (Record { round: 1, ..right.clone() }, 2),
        (Record { round: 1, last: 5, ..right.clone() }, 5),
        (Record { stack: other.clone(), ..right.clone() }, 2),
        (Record { round: 3, last: 3, stack: other, ..right.clone() }, 3),
        (Record { round: 3, last: 2, ..right.clone() }, 3),
        (Record { last: far + 1, ..right.clone() }, 2),
    ];
    for (wrong, last) in cases {
        play.tick();
        play.forget();
        play.write(RECORD, record::encode(&wrong).unwrap());
        let fault =
            format!("fault: round {} of life {:x} did not come about as it has to", wrong.round, wrong.life);
        let reports = [play.reports(0), play.reports(1)].concat();
        assert_eq!(reports, [fault], "{wrong:?}");
        assert_eq!(play.record(), Record { last, ..right.clone() }, "{wrong:?}");
    }
    // Rounds that participants can have reached are left alone, and so is a proposal in the same life.
    for last in [far, 2] {
        play.tick();
        play.forget();
        let fine = Record { last, ..right.clone() };
        play.write(RECORD, record::encode(&fine).unwrap());
        assert_eq!((play.record(), play.reports(0).len()), (fine, 0));
    }
}

#[test]
fn consent_to_another_stack_or_round_commits_nothing() {
    let mut play = Play::joined(&["ab", "ba"]);
    play.owners[0] = Owner::Silent;
    play.propose(1, &[0]);
    play.forget();
    let proposal: Proposal = play.record().proposal.unwrap();
    let key = presence_key(play.id(0));
    for (accepted, check) in [(2, proposal.stack.check() ^ 1), (1, proposal.stack.check())] {
        let presence = Presence { active: 1, accepted, check };
        play.write(&key, record::encode(&presence).unwrap());
        play.tick();
        assert_eq!(play.record().round, 1);
    }
    let presence = Presence { active: 1, accepted: 2, check: proposal.stack.check() };
    play.write(&key, record::encode(&presence).unwrap());
    assert_eq!(play.record().round, 2);
    // The participant whose entry was forged does not follow, and corrects the record.
    assert!(play.reports(0).iter().any(|report| report.starts_with("fault: ")), "{:?}", play.reports);
}

#[test]
fn a_stack_is_proposed_again_for_another_leader_or_for_whoever_has_no_part_in_it() {
    for renews in [false, true] {
        let mut play = Play::joined(&["ab"]);
        play.add(member(9, layers("ab"), MemberSettings { renews, ..settings() }));
        play.forget();
        play.tick();
        assert!(play.reports(1).is_empty(), "the leader is there");
        play.leave(0);
        let again: &[&str] = if renews { &["stage 2 a, leads", "commit 2 a, leads"] } else { &[] };
        assert_eq!(play.reports(1), [&["participants 1"], again].concat());
        play.members[1].begin_anew();
        play.run();
        let round = if renews { 3 } else { 2 };
        assert_eq!(play.reports(1), [format!("stage {round} a, leads"), format!("commit {round} a, leads")]);
        play.tick();
        assert!(play.reports(1).is_empty());
    }
}

/// Returns layers of which the second is preferred while the participant is alone.
fn alone_b() -> Vec<Node> {
    let alone = Preference::branch(1).only_if(Arc::new(NumParticipantsAtMost(1)));
    vec![choice(layer("a"), layer("b"), alone)]
}

#[test]
fn a_preference_that_depends_on_the_number_changes_the_stack() {
    let mut play = Play::of(vec![member(1, alone_b(), settings())]);
    assert_eq!(play.reports(0), ["joined 1 b, leads", "participants 1"]);
    play.add(member(2, layers("ab"), settings()));
    assert_eq!(play.reports(0), ["participants 2", "stage 2 a, leads", "commit 2 a, leads"]);
    // Another participant prefers the stack that was in force; the two do not alternate for ever.
    play.propose(1, &[1]);
    assert_eq!(play.reports(0), ["stage 3 b", "commit 3 b"]);
    play.leave(1);
    play.forget();
    play.tick();
    assert!(play.reports(0).is_empty());
}

#[test]
fn a_preference_that_was_refused_is_proposed_again_after_pauses() {
    let mut play = Play::of(vec![member(1, alone_b(), settings())]);
    play.add(member(2, layers("b"), settings()));
    let reports = play.reports(0);
    assert_eq!(reports[2..5], ["participants 2", "stage 2 a, leads", "abandoned 2"]);
    for (round, pause) in [(3, 3), (4, 6)] {
        for _ in 1..pause {
            play.tick();
            assert!(play.reports(0).is_empty());
        }
        play.tick();
        assert_eq!(play.reports(0)[0], format!("stage {round} a, leads"));
    }
    // The owner's own proposal does not wait, and neither does a new group.
    play.add(member(3, layers("ab"), settings()));
    assert_eq!(play.reports(0)[..2], ["participants 3", "stage 5 a, leads"]);
}

#[test]
fn events_that_nobody_takes_hold_up_all_but_the_renewal() {
    let mut play = Play::joined(&["ab"]);
    let member = &mut play.members[0];
    member.events.extend(std::iter::repeat_n(Event::StoreBack, 63));
    member.handle_missed();
    let mut other = member.clone();
    assert_eq!(other.poll_request(), Some(Request::Transact(Transaction::new())));
    member.events.push_back(Event::StoreBack);
    assert_eq!(member.poll_request(), None);
    member.tick();
    assert!(matches!(member.poll_request(), Some(Request::Renew { .. })));
}

/// Returns an answer to a transaction that was lost.
fn lost(revision: u64) -> Result<Outcome, Error> {
    let snapshot = Snapshot { revision: Revision(revision), ..Snapshot::default() };
    Ok(Outcome { applied: false, snapshot })
}

#[test]
fn after_a_hundred_lost_races_a_participant_waits_for_the_next_tick() {
    let mut member = member(1, layers("ab"), settings());
    let races = |member: &mut Member, most: usize| {
        let mut count = 0;
        while count < most && member.poll_request().is_some() {
            count += 1;
            member.handle_outcome(lost(1));
        }
        count
    };
    assert_eq!(races(&mut member, 1_000), 100);
    member.tick();
    assert_eq!(races(&mut member, 99), 99);
    assert!(member.poll_request().is_some());
    member.handle_outcome(lost(1).map(|outcome| Outcome { applied: true, ..outcome }));
    assert_eq!(races(&mut member, 1_000), 100, "a race that was won ends the row");
}

/// Returns true if the participant reads the store, and answers its request with the same entries.
fn reads(play: &mut Play) -> bool {
    let request = play.members[0].poll_request();
    assert!(request.is_none() || request == Some(Request::Transact(Transaction::new())), "{request:?}");
    if request.is_some() {
        let outcome = Outcome { applied: true, snapshot: play.store.clone() };
        play.members[0].handle_outcome(Ok(outcome));
    }
    request.is_some()
}

#[test]
fn news_of_later_revisions_are_read_and_other_news_are_not() {
    let mut play = Play::joined(&["ab"]);
    let now = play.store.revision;
    play.members[0].handle_change(now);
    assert!(!reads(&mut play));
    play.members[0].handle_change(Revision(now.0 + 1));
    assert!(reads(&mut play) && !reads(&mut play));
    play.members[0].handle_missed();
    assert!(reads(&mut play) && !reads(&mut play));
    // News that come while an answer is outstanding.
    for (news, answer, again) in
        [(now.0 + 1, now.0, true), (now.0 + 1, now.0 + 1, false), (now.0, now.0 + 1, false)]
    {
        play.members[0].handle_missed();
        assert!(play.members[0].poll_request().is_some());
        assert_eq!(play.members[0].poll_request(), None, "one request at a time");
        play.members[0].handle_change(Revision(news));
        let snapshot = Snapshot { revision: Revision(answer), ..play.store.clone() };
        play.members[0].handle_outcome(Ok(Outcome { applied: true, snapshot }));
        assert_eq!(reads(&mut play), again, "{news} {answer}");
        assert!(!reads(&mut play));
    }
    play.members[0].handle_missed();
    assert!(play.members[0].poll_request().is_some());
    play.members[0].handle_missed();
    let outcome = Outcome { applied: true, snapshot: play.store.clone() };
    play.members[0].handle_outcome(Ok(outcome));
    assert!(reads(&mut play) && !reads(&mut play));
}

#[test]
fn a_renewal_tells_whether_the_store_has_changed() {
    let mut play = Play::joined(&["ab"]);
    let now = play.store.revision;
    let later = Revision(now.0 + 1);
    let none = Revision::ABSENT;
    for (news, missed, answer, again) in [
        (none, false, Some(now), false),
        (none, false, Some(later), true),
        (later, false, Some(now), true),
        (now, false, Some(now), false),
        (none, true, Some(now), true),
        (none, false, None, true),
    ] {
        play.members[0].tick();
        assert!(matches!(play.members[0].poll_request(), Some(Request::Renew { .. })));
        play.members[0].handle_change(news);
        if missed {
            play.members[0].handle_missed();
        }
        play.members[0].handle_renewed(Ok(answer));
        assert_eq!(reads(&mut play), again, "{news} {missed} {answer:?}");
        assert!(!reads(&mut play));
    }
}

#[test]
fn a_store_that_fails_is_reported_once_and_asked_again_at_the_next_tick() {
    let failure = || Error::new(ErrorKind::Unreachable, "no store");
    let mut play = Play::joined(&["ab"]);
    play.forget();
    let member = &mut play.members[0];
    member.handle_missed();
    assert!(member.poll_request().is_some());
    member.handle_outcome(Err(failure()));
    for _ in 0..2 {
        assert_eq!(member.poll_request(), None);
        member.tick();
        assert!(matches!(member.poll_request(), Some(Request::Renew { .. })));
        member.handle_renewed(Err(failure()));
    }
    play.run();
    assert_eq!(play.reports(0), ["lost Unreachable: no store"]);
    play.tick();
    assert_eq!(play.reports(0), ["back"]);
    assert!(!reads(&mut play), "it has read the store");
}

#[test]
fn a_participant_outside_reads_the_store_at_each_tick() {
    let mut play = Play::joined(&["ab", "ba"]);
    play.owners[0] = Owner::Silent;
    play.propose(1, &[0]);
    play.add(member(9, layers("ab"), settings()));
    assert_eq!(play.members[2].poll_request(), None);
    play.members[2].tick();
    assert_eq!(play.members[2].poll_request(), Some(Request::Transact(Transaction::new())));
}
