//! The link-layer addresses of neighbours: the cache of ARP (RFC 826, RFC 1122 section 2.3.2) and of neighbour discovery (RFC 4861).

use super::neighbour::{Change, Neighbour, Question, Resolution, Statement, Step};
use super::rate_limit::RateLimit;
use crate::MacAddr;
use ahash::RandomState;
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Instant;

/// Largest number of entries: strangers in a large subnet must cost little memory.
const CAPACITY: usize = 1024;

/// Largest number of entries without an address.
const MAX_UNRESOLVED: usize = 256;

/// Number of strangers in a second whose addresses are asked for so that they get an answer. Strangers may
/// have invented these addresses, and all nodes on the wire receive the question. A stranger that exists
/// mostly asks first.
const MAX_STRANGERS: u32 = 1000;

/// The reason for a look-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// This end wants to talk to the neighbour.
    Own,
    /// A stranger, whose address may be forged, gets an answer.
    Answer,
}

/// The result of a look-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lookup {
    pub(crate) resolution: Resolution,
    /// A question that has to be sent.
    pub(crate) question: Option<Question>,
}

/// The addresses of neighbours.
#[derive(Debug)]
pub(crate) struct Neighbours {
    table: HashMap<IpAddr, Neighbour, RandomState>,
    /// The limit of questions about strangers.
    strangers: RateLimit,
    /// Time of the next step; nothing is due before.
    due: Option<Instant>,
    /// Number that changes whenever an address that was returned is no longer valid.
    generation: u32,
    /// True if the resolution of a neighbour has ended.
    settled: bool,
}

impl Neighbours {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            table: HashMap::with_hasher(RandomState::new()),
            strangers: RateLimit::new(MAX_STRANGERS, now),
            due: None,
            generation: 0,
            settled: false,
        }
    }

    /// Returns a number that changes whenever an address that was returned is no longer valid.
    #[inline]
    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    /// Returns the earliest time at which [`step`](Self::step) is due.
    #[inline]
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Returns true if the resolution of a neighbour has ended since the last
    /// [`take_settled`](Self::take_settled).
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        self.settled
    }

    /// Returns true if the resolution of a neighbour has ended since the last call.
    #[inline]
    pub(crate) fn take_settled(&mut self) -> bool {
        std::mem::take(&mut self.settled)
    }

    /// Returns true if all nodes are being asked about `neighbour`.
    pub(crate) fn is_resolving(&self, neighbour: IpAddr) -> bool {
        self.table.get(&neighbour).is_some_and(Neighbour::is_resolving)
    }

    /// Returns true if an address of `neighbour` is known.
    pub(crate) fn is_known(&self, neighbour: IpAddr) -> bool {
        self.table.get(&neighbour).is_some_and(|entry| !entry.is_unresolved())
    }

    /// Returns the address of `neighbour`, or the state of its resolution.
    pub(crate) fn look_up(&mut self, neighbour: IpAddr, purpose: Purpose, now: Instant) -> Lookup {
        let wanted = purpose == Purpose::Own;
        let Some(entry) = self.table.get_mut(&neighbour) else {
            return self.begin(neighbour, wanted, now);
        };
        entry.wanted |= wanted;
        let (resolution, step) = entry.look_up(now);
        let due = entry.due();
        self.note_due(due);
        let question = match step {
            Step::Gone => {
                self.forget(neighbour);
                return self.begin(neighbour, wanted, now);
            }
            Step::Ask(question) => Some(question),
            Step::Replaced(question) => {
                self.invalidate();
                Some(question)
            }
            Step::Settled => {
                self.settled = true;
                None
            }
            Step::Nothing => None,
        };
        Lookup { resolution, question }
    }

    /// Begins to ask about a neighbour.
    fn begin(&mut self, neighbour: IpAddr, wanted: bool, now: Instant) -> Lookup {
        if !wanted && !self.strangers.allow(now) {
            return Lookup { resolution: Resolution::Failed, question: None };
        }
        self.make_room(MAX_UNRESOLVED, |entry| entry.is_unresolved());
        self.insert(neighbour, Neighbour::resolving(wanted, now));
        Lookup { resolution: Resolution::Resolving, question: Some(Question::All) }
    }

    /// Records a statement that the address of `neighbour` is `mac`. Returns true if it disputes what the
    /// neighbour has confirmed.
    pub(crate) fn hear(
        &mut self,
        neighbour: IpAddr,
        mac: MacAddr,
        statement: Statement,
        now: Instant,
    ) -> bool {
        let Some(entry) = self.table.get_mut(&neighbour) else {
            if statement == Statement::Request {
                self.insert(neighbour, Neighbour::claimed(mac, now));
            }
            return false;
        };
        let disputed = entry.is_disputed_by(mac);
        let change = entry.hear(mac, statement, now);
        let due = entry.due();
        self.note_due(due);
        match change {
            Change::Nothing => {}
            Change::Settled => self.settled = true,
            Change::Invalid => self.invalidate(),
        }
        disputed
    }

    /// Does what is due, and asks the necessary questions.
    #[cold]
    pub(crate) fn step(&mut self, now: Instant, mut ask: impl FnMut(IpAddr, Question)) {
        let mut is_invalid = false;
        let mut settled = false;
        self.table.retain(|neighbour, entry| match entry.step(now) {
            Step::Nothing => true,
            Step::Ask(question) => {
                ask(*neighbour, question);
                true
            }
            Step::Replaced(question) => {
                is_invalid = true;
                ask(*neighbour, question);
                true
            }
            Step::Settled => {
                settled = true;
                true
            }
            Step::Gone => {
                is_invalid |= entry.is_used();
                false
            }
        });
        self.settled |= settled;
        if is_invalid {
            self.invalidate();
        }
        self.due = self.table.values().filter_map(Neighbour::due).min();
    }

    /// Records that the wire was cut, and that other nodes may be at its end: no address counts as confirmed.
    pub(crate) fn distrust(&mut self) {
        for entry in self.table.values_mut() {
            entry.distrust();
        }
        self.invalidate();
    }

    fn invalidate(&mut self) {
        self.generation = self.generation.wrapping_add(1);
    }

    fn note_due(&mut self, due: Option<Instant>) {
        self.due = self.due.into_iter().chain(due).min();
    }

    fn insert(&mut self, neighbour: IpAddr, entry: Neighbour) {
        self.make_room(CAPACITY, |_| true);
        self.note_due(entry.due());
        self.table.insert(neighbour, entry);
    }

    fn forget(&mut self, neighbour: IpAddr) {
        if let Some(entry) = self.table.remove(&neighbour) {
            self.settled |= entry.is_resolving();
            if entry.is_used() {
                self.invalidate();
            }
        }
    }

    /// Makes room for another entry of a `kind`, of which there may be `max`, by forgetting the least
    /// important entry.
    fn make_room(&mut self, max: usize, kind: impl Fn(&Neighbour) -> bool) {
        if self.table.len() < max {
            return;
        }
        let all = || self.table.iter().filter(|(_, entry)| kind(entry));
        if all().count() < max {
            return;
        }
        let least = all().min_by_key(|(_, entry)| entry.rank()).map(|(neighbour, _)| *neighbour);
        if let Some(least) = least {
            self.forget(least);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::neighbour::REACHABLE;
    use super::*;
    use Purpose::{Answer, Own};
    use Statement::{Announcement, Reply, Request};
    use std::time::Duration;

    const IP: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));
    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
    const OTHER: MacAddr = MacAddr([2, 0, 0, 0, 0, 3]);

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn stranger(number: u32) -> IpAddr {
        IpAddr::from((0x0a01_0000 + number).to_be_bytes())
    }

    /// Returns neighbours among which `IP` has answered at `now`.
    fn confirmed(now: Instant) -> Neighbours {
        let mut neighbours = Neighbours::new(now);
        neighbours.look_up(IP, Own, now);
        neighbours.hear(IP, MAC, Reply, now);
        assert!(neighbours.take_settled());
        neighbours
    }

    fn steps(neighbours: &mut Neighbours, now: Instant) -> Vec<(IpAddr, Question)> {
        let mut asked = Vec::new();
        neighbours.step(now, |neighbour, question| asked.push((neighbour, question)));
        asked
    }

    /// Returns the address that is in use.
    fn mac(neighbours: &mut Neighbours, now: Instant) -> Option<MacAddr> {
        match neighbours.look_up(IP, Own, now).resolution {
            Resolution::Known { mac, .. } => Some(mac),
            Resolution::Resolving | Resolution::Failed => None,
        }
    }

    #[test]
    fn an_unknown_neighbour_is_asked_three_times() {
        let start = Instant::now();
        let mut neighbours = Neighbours::new(start);
        let mut look_up = |after: f64| neighbours.look_up(IP, Own, start + seconds(after));
        let [asked, waits] = [Some(Question::All), None]
            .map(|question| Lookup { resolution: Resolution::Resolving, question });
        assert_eq!(
            [0.0, 0.0, 0.9, 1.0, 1.1, 2.0].map(&mut look_up),
            [asked, waits, waits, asked, waits, asked]
        );
        assert_eq!(look_up(2.9), waits);
        let failed = Lookup { resolution: Resolution::Failed, question: None };
        assert_eq!((look_up(3.0), look_up(3.9)), (failed, failed));
        assert_eq!(look_up(4.0), asked);
    }

    #[test]
    fn it_is_asked_without_further_look_ups_and_its_failure_is_announced() {
        let start = Instant::now();
        let mut neighbours = Neighbours::new(start);
        neighbours.look_up(IP, Own, start);
        for after in [1.0, 2.0] {
            assert_eq!(neighbours.due(), Some(start + seconds(after)));
            assert_eq!(steps(&mut neighbours, start + seconds(after)), [(IP, Question::All)]);
        }
        assert!(neighbours.is_resolving(IP) && !neighbours.is_settled() && !neighbours.take_settled());
        assert_eq!(steps(&mut neighbours, start + seconds(3.0)), []);
        assert!(!neighbours.is_resolving(IP) && !neighbours.is_known(IP));
        assert!(neighbours.is_settled() && neighbours.take_settled() && !neighbours.is_settled());
        assert_eq!(steps(&mut neighbours, start + seconds(4.0)), []);
        assert_eq!((neighbours.table.len(), neighbours.due()), (0, None));
    }

    #[test]
    fn an_address_lasts_a_minute_and_is_then_verified_while_it_is_used() {
        let start = Instant::now();
        let mut neighbours = confirmed(start);
        let before = neighbours.generation();
        let fresh = neighbours.look_up(IP, Own, start + seconds(59.0));
        let resolution = Resolution::Known { mac: MAC, until: start + REACHABLE };
        assert_eq!(fresh, Lookup { resolution, question: None });
        for (after, asked) in [(60.0, true), (60.5, false), (61.0, true), (62.0, true)] {
            let lookup = neighbours.look_up(IP, Own, start + seconds(after));
            assert!(matches!(lookup.resolution, Resolution::Known { mac: MAC, .. }), "{after}");
            assert_eq!(lookup.question, asked.then_some(Question::One(MAC)), "{after}");
        }
        assert_eq!(neighbours.generation(), before);
        // The neighbour is silent at its address: it may have another address by now.
        let lookup = neighbours.look_up(IP, Own, start + seconds(63.0));
        assert_eq!(lookup, Lookup { resolution: Resolution::Resolving, question: Some(Question::All) });
        assert_ne!(neighbours.generation(), before);
        for after in [64.0, 65.0] {
            steps(&mut neighbours, start + seconds(after));
        }
        assert_eq!(neighbours.look_up(IP, Own, start + seconds(66.0)).resolution, Resolution::Failed);
    }

    #[test]
    fn a_claim_replaces_no_address_that_the_neighbour_confirms() {
        let start = Instant::now();
        let mut neighbours = confirmed(start);
        let generation = neighbours.generation();
        let mut asked = 0;
        // A thousand strangers come in a second, for ten seconds; the neighbour answers questions.
        for millisecond in 0..10_000_u32 {
            let now = start + Duration::from_millis(millisecond.into());
            let statement = [Reply, Request, Announcement][millisecond as usize % 3];
            assert!(neighbours.hear(IP, OTHER, statement, now));
            for (neighbour, question) in steps(&mut neighbours, now) {
                assert_eq!((neighbour, question), (IP, Question::One(MAC)));
                neighbours.hear(IP, OTHER, Reply, now);
                neighbours.hear(IP, MAC, Reply, now);
                asked += 1;
            }
            assert_eq!(mac(&mut neighbours, now), Some(MAC));
        }
        assert_eq!(neighbours.generation(), generation, "nobody had to look again");
        assert!((5..=10).contains(&asked), "{asked} questions");
    }

    /// Returns neighbours among which `IP` has moved to `OTHER` at `now`, and has not answered for as long as it
    /// is waited for.
    fn replaced(now: Instant) -> (Neighbours, Instant) {
        let mut neighbours = confirmed(now);
        let generation = neighbours.generation();
        neighbours.hear(IP, OTHER, Announcement, now);
        let mut asked = Vec::new();
        for millisecond in 0..375 {
            let now = now + Duration::from_millis(millisecond);
            let questions = steps(&mut neighbours, now);
            asked.extend(questions.into_iter().map(|(_, question)| (millisecond, question)));
            assert_eq!(mac(&mut neighbours, now), Some(MAC));
        }
        assert_eq!(asked, [0, 125, 250].map(|at| (at, Question::One(MAC))));
        assert_eq!(neighbours.generation(), generation);
        let now = now + Duration::from_millis(375);
        assert_eq!(steps(&mut neighbours, now), [(IP, Question::One(OTHER))]);
        assert_ne!(neighbours.generation(), generation);
        (neighbours, now)
    }

    #[test]
    fn a_neighbour_that_has_moved_is_followed_within_half_a_second() {
        let (mut neighbours, now) = replaced(Instant::now());
        assert_eq!(mac(&mut neighbours, now), Some(OTHER));
        neighbours.hear(IP, OTHER, Reply, now);
        let resolution = Resolution::Known { mac: OTHER, until: now + REACHABLE };
        assert_eq!(neighbours.look_up(IP, Own, now), Lookup { resolution, question: None });
    }

    #[test]
    fn a_neighbour_that_answers_late_gets_its_place_back() {
        let (mut neighbours, now) = replaced(Instant::now());
        let generation = neighbours.generation();
        neighbours.hear(IP, MAC, Reply, now);
        assert_eq!(mac(&mut neighbours, now), Some(MAC));
        assert_ne!(neighbours.generation(), generation);
    }

    #[test]
    fn a_rival_that_is_silent_itself_is_soon_given_up() {
        let (mut neighbours, now) = replaced(Instant::now());
        for after in [125, 250] {
            let asked = steps(&mut neighbours, now + Duration::from_millis(after));
            assert_eq!(asked, [(IP, Question::One(OTHER))]);
        }
        let lookup = neighbours.look_up(IP, Own, now + Duration::from_millis(375));
        assert_eq!(lookup, Lookup { resolution: Resolution::Resolving, question: Some(Question::All) });
    }

    #[test]
    fn a_claim_that_comes_while_the_neighbour_is_verified_hastens_the_questions() {
        let start = Instant::now();
        let mut neighbours = confirmed(start);
        let expired = start + REACHABLE;
        assert_eq!(neighbours.look_up(IP, Own, expired).question, Some(Question::One(MAC)));
        neighbours.hear(IP, OTHER, Announcement, expired);
        for after in [0, 125, 250] {
            let asked = steps(&mut neighbours, expired + Duration::from_millis(after));
            assert_eq!(asked, [(IP, Question::One(MAC))]);
            // Further claims change nothing.
            neighbours.hear(IP, OTHER, Announcement, expired);
        }
        let asked = steps(&mut neighbours, expired + Duration::from_millis(375));
        assert_eq!(asked, [(IP, Question::One(OTHER))]);
    }

    #[test]
    fn an_address_that_was_only_claimed_is_verified_when_it_is_used() {
        let start = Instant::now();
        let mut neighbours = Neighbours::new(start);
        neighbours.hear(IP, OTHER, Request, start);
        // The address was not used yet: the last asker counts, and an unsolicited answer does not.
        neighbours.hear(IP, MAC, Request, start);
        neighbours.hear(IP, OTHER, Announcement, start);
        neighbours.hear(IP, OTHER, Reply, start);
        let known = Resolution::Known { mac: MAC, until: start + seconds(1.0) };
        let lookup = neighbours.look_up(IP, Answer, start);
        assert_eq!(lookup, Lookup { resolution: known, question: Some(Question::One(MAC)) });
        // Now another node asks, and is asked as well: the node that answers counts.
        neighbours.hear(IP, OTHER, Reply, start);
        assert_eq!((mac(&mut neighbours, start), steps(&mut neighbours, start)), (Some(MAC), vec![]));
        neighbours.hear(IP, OTHER, Request, start);
        assert_eq!(steps(&mut neighbours, start), [(IP, Question::One(OTHER))]);
        let generation = neighbours.generation();
        assert_eq!(mac(&mut neighbours, start), Some(MAC));
        neighbours.hear(IP, OTHER, Reply, start);
        assert_eq!(mac(&mut neighbours, start), Some(OTHER));
        assert_ne!(neighbours.generation(), generation);
    }

    #[test]
    fn one_that_says_unasked_that_it_has_an_address_is_asked_at_once_and_once() {
        let start = Instant::now();
        let mut neighbours = Neighbours::new(start);
        neighbours.look_up(IP, Own, start);
        for _ in 0..100 {
            neighbours.hear(IP, OTHER, Announcement, start);
        }
        assert_eq!(steps(&mut neighbours, start), [(IP, Question::One(OTHER))]);
        assert_eq!((steps(&mut neighbours, start), mac(&mut neighbours, start)), (vec![], None));
        neighbours.hear(IP, MAC, Reply, start);
        assert_eq!(mac(&mut neighbours, start), Some(MAC));
    }

    #[test]
    fn one_that_asks_while_everybody_is_asked_is_answered_and_does_not_silence_the_others() {
        let start = Instant::now();
        let mut neighbours = Neighbours::new(start);
        neighbours.look_up(IP, Own, start);
        neighbours.hear(IP, OTHER, Request, start);
        assert!(neighbours.take_settled());
        assert_eq!(mac(&mut neighbours, start), Some(OTHER));
        neighbours.hear(IP, MAC, Reply, start);
        assert_eq!(mac(&mut neighbours, start), Some(MAC));
    }

    #[test]
    fn a_reply_that_nobody_asked_for_teaches_nothing() {
        let start = Instant::now();
        let mut neighbours = Neighbours::new(start);
        neighbours.hear(IP, MAC, Reply, start);
        neighbours.hear(IP, MAC, Announcement, start);
        assert!(!neighbours.is_known(IP));
        neighbours.hear(IP, MAC, Request, start);
        assert!(neighbours.is_known(IP));
    }

    #[test]
    fn after_the_wire_was_cut_another_may_have_the_address_at_once() {
        let start = Instant::now();
        let mut neighbours = confirmed(start);
        let generation = neighbours.generation();
        neighbours.distrust();
        assert_ne!(neighbours.generation(), generation);
        neighbours.hear(IP, OTHER, Request, start);
        assert_eq!(mac(&mut neighbours, start), Some(OTHER));
    }

    #[test]
    fn strangers_are_not_remembered_beyond_measure_and_displace_no_neighbour() {
        let start = Instant::now();
        let mut neighbours = confirmed(start);
        let generation = neighbours.generation();
        for number in 0..5000_u32 {
            let now = start + Duration::from_millis(number.into());
            neighbours.hear(stranger(number), OTHER, Request, now);
            neighbours.look_up(stranger(10_000 + number), Answer, now);
            assert!(neighbours.table.len() <= CAPACITY);
            let unresolved = neighbours.table.values().filter(|entry| entry.is_unresolved()).count();
            assert!(unresolved <= MAX_UNRESOLVED);
        }
        assert_eq!(mac(&mut neighbours, start + seconds(5.0)), Some(MAC));
        assert_eq!(neighbours.generation(), generation);
    }

    #[test]
    fn strangers_cause_few_questions_and_hold_up_none_of_ours() {
        let start = Instant::now();
        let mut neighbours = Neighbours::new(start);
        neighbours.look_up(IP, Own, start);
        let asked = |neighbours: &mut Neighbours, now| {
            (0..20_000)
                .filter(|number| neighbours.look_up(stranger(*number), Answer, now).question.is_some())
                .count()
        };
        assert_eq!(asked(&mut neighbours, start), MAX_STRANGERS as usize);
        assert!(neighbours.is_resolving(IP));
        let next = IpAddr::from([10, 0, 0, 3]);
        assert_eq!(neighbours.look_up(next, Own, start).question, Some(Question::All));
        neighbours.hear(IP, MAC, Reply, start);
        assert_eq!(mac(&mut neighbours, start), Some(MAC));
    }

    #[test]
    fn one_other_claimant_is_asked_and_neither_the_first_nor_a_third_takes_its_place() {
        const THIRD: MacAddr = MacAddr([2, 0, 0, 0, 0, 4]);
        let start = Instant::now();
        let mut neighbours = Neighbours::new(start);
        neighbours.hear(IP, MAC, Request, start);
        assert_eq!(neighbours.look_up(IP, Own, start).question, Some(Question::One(MAC)));
        neighbours.hear(IP, MAC, Request, start);
        assert_eq!(steps(&mut neighbours, start), [], "it is asked already");
        neighbours.hear(IP, OTHER, Request, start);
        assert_eq!(steps(&mut neighbours, start), [(IP, Question::One(OTHER))]);
        neighbours.hear(IP, THIRD, Request, start);
        neighbours.hear(IP, THIRD, Reply, start);
        assert_eq!((steps(&mut neighbours, start), mac(&mut neighbours, start)), (vec![], Some(MAC)));
        neighbours.hear(IP, OTHER, Reply, start);
        assert_eq!(mac(&mut neighbours, start), Some(OTHER));
    }
}
