//! Two ends over a network that loses, repeats and reorders their messages, in random schedules.

mod guarantees;
mod vain;

use super::super::handover::{Last, Step};
use super::*;
use bertha_core::LayerInfo;

/// Maximum time for the work of an end, and for a message on its way, in milliseconds.
const SLOW: u64 = 120;

fn stack() -> Vec<Node> {
    let one = |name| vec![Node::Layer(LayerInfo::plain(name, 1))];
    vec![Node::Select { branches: [one("test::A"), one("test::B")], prefer: 0.into() }]
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// A message that arrives at an end later, or work that is over by then.
enum Later {
    Message(Upgrade),
    Built(bool),
    SendsEnded(bool),
    RestReceived,
    SendsAreLate(u64),
    ReceiversLeft,
    Request(usize),
}

/// Returns the number of messages that an end has sent before an epoch, which differs between epochs.
fn sent_before(role: Role, epoch: u64) -> u64 {
    epoch * 10 + u64::from(role == Role::Server)
}

struct End {
    agreement: PeerAgreement,
    is_staged: bool,
    is_built: bool,
    /// True if the end sends in the next epoch, and has received the rest of the old epoch.
    has_begun: bool,
    has_rest: bool,
    /// The epochs that the end has begun, with the picks of each epoch.
    begun: Vec<(u64, Vec<u8>)>,
    requests: u32,
    reports: u32,
    later: Vec<(Instant, Later)>,
}

impl End {
    fn new(role: Role) -> Self {
        let terms = ChangeTerms {
            id: 7,
            role,
            nodes: stack(),
            requirements: Requirements::OPEN,
            may_lose: Set::NONE,
            proposal_timeout: Duration::from_secs(10),
            repeat_after: Duration::from_millis(100),
        };
        Self {
            agreement: PeerAgreement::new(terms, vec![0]),
            is_staged: false,
            is_built: false,
            has_begun: false,
            has_rest: false,
            begun: Vec::new(),
            requests: 0,
            reports: 0,
            later: Vec::new(),
        }
    }

    /// Does the work that is due, and returns the end's messages. The steps follow after each event, as in
    /// the task.
    fn step(&mut self, now: Instant, dice: &mut Dice, fails: bool) -> Vec<Upgrade> {
        let mut said = Vec::new();
        while let Some(at) = self.later.iter().position(|(due, _)| *due <= now) {
            let event = self.later.swap_remove(at).1;
            self.take(now, event);
            self.perform(now, dice, fails, &mut said);
        }
        self.perform(now, dice, fails, &mut said);
        said
    }

    fn take(&mut self, now: Instant, event: Later) {
        match event {
            Later::Message(upgrade) => self.agreement.on_message(now, upgrade),
            Later::Built(is_good) if self.is_staged => {
                self.is_built = is_good;
                let failure = || Err(error(ErrorKind::Exhausted, "no licence left"));
                self.agreement.on_built(now, if is_good { Ok(()) } else { failure() });
            }
            Later::Built(_) => {}
            Later::SendsEnded(true) => {
                let (role, epoch) = (self.agreement.terms.role, self.changes_to());
                self.agreement.on_sends_ended(now, Ok(sent_before(role, epoch)));
            }
            Later::SendsEnded(false) => {
                self.agreement.on_sends_ended(now, Err(error(ErrorKind::TimedOut, "stuck")));
            }
            Later::RestReceived => {
                self.has_rest = true;
                self.agreement.handover().rest_received();
            }
            Later::SendsAreLate(to) => _ = self.agreement.handover().sends_are_late(to),
            Later::ReceiversLeft => self.agreement.on_receivers_left(now),
            Later::Request(_) if self.agreement.has_request() => {}
            Later::Request(alternative) => {
                self.requests += 1;
                self.agreement.on_request(now, Pick::alternative(alternative));
            }
        }
    }

    /// Returns the epoch of the change that is decided.
    fn changes_to(&self) -> u64 {
        match self.agreement.phase {
            Phase::Switching { epoch, .. } => epoch,
            ref other => panic!("{other:?}"),
        }
    }

    fn perform(&mut self, now: Instant, dice: &mut Dice, fails: bool, said: &mut Vec<Upgrade>) {
        loop {
            while let Some(upgrade) = self.agreement.poll_transmit(now) {
                said.push(upgrade);
            }
            while self.agreement.poll_report().is_some() {
                self.reports += 1;
            }
            let Some(step) = self.agreement.handover().poll_step() else { return };
            let due = now + Duration::from_millis(dice.roll(SLOW));
            match step {
                Step::Stage(_) => {
                    assert!(!self.is_staged, "two epochs are staged at once");
                    (self.is_staged, self.is_built) = (true, false);
                }
                Step::Discard => {
                    assert!(self.is_staged && !self.has_begun);
                    (self.is_staged, self.is_built) = (false, false);
                    self.later.retain(|(_, it)| !matches!(it, Later::Built(_)));
                }
                Step::Build => {
                    assert!(self.is_staged && self.agreement.agreed().is_some());
                    self.later.push((due, Later::Built(!fails || dice.roll(10) > 0)));
                }
                Step::EndSending { may_fail } => {
                    assert!(self.is_built, "an epoch ends before there is another");
                    self.later.push((due, Later::SendsEnded(!(may_fail && fails) || dice.roll(10) > 0)));
                }
                Step::Begin(epoch) => {
                    assert!(self.is_built && !self.has_begun);
                    assert_eq!(self.agreement.handover().sends_in(), epoch);
                    self.has_begun = true;
                    self.begun.push((epoch, self.agreement.agreed().unwrap().picks.clone()));
                }
                Step::AwaitRest => {
                    let peer =
                        if self.agreement.terms.role == Role::Client { Role::Server } else { Role::Client };
                    assert_eq!(self.agreement.peer_sent(), Some(sent_before(peer, self.changes_to())));
                    self.later.push((due, Later::RestReceived));
                }
                Step::AwaitSends(epoch) => self.later.push((due, Later::SendsAreLate(epoch))),
                Step::LeaveOld => {
                    assert!(self.has_rest, "receivers leave a stack that is in use");
                    self.later.push((due, Later::ReceiversLeft));
                }
                Step::Enter => {
                    assert!(self.is_built && self.has_rest);
                    self.is_staged = false;
                }
                Step::Retire => {
                    assert!(self.is_built && !self.is_staged && self.has_begun && self.has_rest);
                    self.is_built = false;
                    (self.has_begun, self.has_rest) = (false, false);
                }
            }
        }
    }
}

/// Lets both ends make requests at random for a while; then the network heals, and both ends end up with the
/// same stack. In each millisecond before, with a chance of `replays` percent, a message of an attempt before
/// the last is sent again.
fn run(seed: u64, replays: u64) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (start, loss) = (Instant::now(), dice.roll(5) * 10);
    let mut ends = [End::new(Role::Client), End::new(Role::Server)];
    for end in &mut ends {
        for _ in 0..dice.roll(6) {
            let due = start + Duration::from_millis(dice.roll(3000));
            end.later.push((due, Later::Request(dice.roll(2) as usize)));
        }
    }
    let mut recorded: Vec<(usize, Upgrade)> = Vec::new();
    for milliseconds in 0..60_000 {
        let now = start + Duration::from_millis(milliseconds);
        let is_poor = milliseconds < 15_000;
        if is_poor && dice.roll(100) < replays {
            let last = ends.iter().map(|end| end.agreement.highest).max();
            let earlier: Vec<_> = recorded.iter().filter(|(_, it)| Some(it.round) < last).collect();
            if !earlier.is_empty() {
                let (to, upgrade) = earlier[dice.roll(earlier.len() as u64) as usize].clone();
                ends[to].later.push((now, Later::Message(upgrade)));
            }
        }
        for this in 0..2 {
            for upgrade in ends[this].step(now, &mut dice, is_poor) {
                recorded.push((1 - this, upgrade.clone()));
                let copies = match dice.roll(100) {
                    roll if is_poor && roll < loss => 0,
                    roll if is_poor && roll > 90 => 2,
                    _ => 1,
                };
                for _ in 0..copies {
                    let due = now + Duration::from_millis(1 + if is_poor { dice.roll(SLOW) } else { 0 });
                    ends[1 - this].later.push((due, Later::Message(upgrade.clone())));
                }
            }
        }
        // The end of the connection finds the stack in which the peer sends.
        for this in 0..2 {
            let begun = |end: &End| end.begun.last().map_or(0, |(epoch, _)| *epoch);
            let by_peer = begun(&ends[1 - this]);
            let handover = ends[this].agreement.handover();
            let is_ahead = by_peer > handover.current();
            match handover.last() {
                Last::Current => assert!(!is_ahead, "seed {seed}"),
                Last::Next(next) => assert!(is_ahead && by_peer == next, "seed {seed}"),
                Last::Either(next) => assert!(!is_ahead || by_peer == next, "seed {seed}"),
            }
        }
        // Neither end is ever more than one epoch ahead, and both ends were in the same epochs.
        let [client, server] = &ends;
        let common = client.begun.len().min(server.begun.len());
        assert!(client.begun.len().max(server.begun.len()) <= common + 1, "seed {seed}");
        assert_eq!(client.begun[..common], server.begun[..common], "seed {seed}");
    }
    let [client, server] = &ends;
    assert_eq!(client.begun, server.begun, "seed {seed}");
    for end in &ends {
        assert!(end.agreement.is_idle(), "seed {seed}: {:?}", end.agreement);
        assert_eq!(end.requests, end.reports, "seed {seed}");
    }
}

#[test]
fn both_ends_change_together_or_not_at_all() {
    for seed in 0..60 {
        run(seed, 0);
    }
}

/// The numbers of attempts alone distinguish old messages from new messages here: no proof could.
#[test]
fn whatever_is_said_again_both_ends_change_together_or_not_at_all() {
    for seed in 0..200 {
        run(seed, 20);
    }
}

/// An accepted refusal would end the attempt that is under way.
#[test]
fn a_refusal_of_an_earlier_attempt_is_said_in_vain() {
    let now = Instant::now();
    let mut end = End::new(Role::Client);
    let decline = |round| Upgrade { id: 7, round, step: UpgradeStep::Decline { next: 0, text: "no".into() } };
    for attempt in [1, 2, 3] {
        end.agreement.on_request(now, Pick::alternative(1));
        while end.agreement.poll_transmit(now).is_some() {}
        for earlier in 1..attempt {
            end.agreement.on_message(now, decline(earlier));
            assert!(end.agreement.poll_report().is_none() && end.agreement.has_request());
        }
        end.agreement.on_message(now, decline(attempt));
        assert_eq!(end.agreement.poll_report().unwrap().unwrap_err().kind(), ErrorKind::Refused);
    }
}

/// The highest numbers that the peer can name, and the lowest numbers that are too high.
#[test]
fn a_number_far_ahead_takes_none_away() {
    let (now, offer) = (Instant::now(), Offer::new(7, &stack()).unwrap());
    for role in [Role::Client, Role::Server] {
        let mut end = End::new(role);
        let propose = |round| Upgrade { id: 7, round, step: UpgradeStep::Propose { offer: offer.clone() } };
        for far in [u64::MAX, u64::MAX - 1, 1 << 62, (1 << 32) + 1] {
            end.agreement.on_message(now, propose(far));
            let declined = end.agreement.poll_transmit(now).unwrap();
            assert!(matches!(declined.step, UpgradeStep::Decline { next: 1, .. }), "{declined:?}");
        }
        // The peer does not make this end go there either.
        end.agreement.on_request(now, Pick::alternative(1));
        let proposed = end.agreement.poll_transmit(now).unwrap();
        assert_eq!(proposed.round, 1);
        let step = UpgradeStep::Decline { next: u64::MAX, text: "the number is used".into() };
        end.agreement.on_message(now, Upgrade { id: 7, round: 1, step });
        let refused = end.agreement.poll_report().unwrap().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Refused);
        end.agreement.on_message(now, propose(2));
        let accepted = end.agreement.poll_transmit(now).unwrap();
        assert!(matches!(accepted.step, UpgradeStep::Accept { .. }), "{accepted:?}");
    }
}

#[test]
fn numbers_that_are_used_up_refuse_changes_and_nothing_else() {
    let (now, offer) = (Instant::now(), Offer::new(7, &stack()).unwrap());
    for role in [Role::Client, Role::Server] {
        let mut end = End::new(role);
        let propose = |round| Upgrade { id: 7, round, step: UpgradeStep::Propose { offer: offer.clone() } };
        // The state after very many changes.
        end.agreement.highest = u64::MAX - 1;
        end.agreement.on_message(now, propose(u64::MAX));
        end.agreement.on_message(now, Upgrade { id: 7, round: u64::MAX, step: UpgradeStep::Abort });
        let accepted = end.agreement.poll_transmit(now).unwrap();
        assert!(matches!(accepted.step, UpgradeStep::Accept { .. }));
        end.agreement.on_request(now, Pick::alternative(1));
        let refused = end.agreement.poll_report().unwrap().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Exhausted);
        // The answer to an earlier number names no later number.
        end.agreement.on_message(now, propose(9));
        let declined = end.agreement.poll_transmit(now).unwrap();
        assert!(matches!(declined.step, UpgradeStep::Decline { next: 0, .. }), "{declined:?}");
        while end.agreement.handover().poll_step().is_some() {}
        assert!(end.agreement.is_idle());
    }
}

#[test]
fn the_hash_of_an_attempt_covers_the_capabilities_that_differ() {
    let offer = Offer::new(7, &stack()).unwrap();
    let hash = |capabilities: &[_]| transcript(1, &offer, [&[0], &[1]], capabilities);
    let [first, second] =
        [b"rate", b"size"].map(|it| hash(&[DifferingCapability { layer: 2, encoding: it.to_vec() }]));
    assert_ne!(first, second);
    assert_ne!(first, hash(&[]));
}
