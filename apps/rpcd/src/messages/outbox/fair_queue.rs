//! Calls that wait for their server, in which parties have turns, and a part of what is under way.

use bertha_managed::{Descriptor, Party};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

/// Number of requests that a party has under way at a server that others call too, unless the server takes long.
const PART: usize = 64;

/// Number of requests that a party has under way there if more than [`CROWD`] of its calls wait. Each of so many costs more than one of
/// few, at both of its ends and here, since they do not fit a cache: equal parts would make the others pay for that.
const PART_OF_A_CROWD: usize = PART / 4;
const CROWD: usize = 8 * PART;

/// The unit of time. After one without an answer, and what is left of another, a party has as many requests more under way: 64 in two
/// milliseconds at most. It has no more than its part again once the server answers as many within one.
const PATIENCE: Duration = Duration::from_millis(1);

/// Number of times of [`PATIENCE`] for which a party counts that has no call any more: one that makes its calls together has none in between.
const LINGERS: u64 = 2;

/// Requests and cancellations that wait for their server, those of each party in the order of its calls. The parties have turns, so that one
/// with few calls does not stand behind all of another. Nor does it stand behind them where the queue can't see them, on their way to the server
/// and back: where several parties call a server, each has a part of the requests under way. A call leaves the queue before its turn if
/// it is needed no more.
#[derive(Debug)]
pub(crate) struct FairQueue {
    /// The parties with calls that wait or are under way.
    parties: HashMap<Party, Flow>,
    /// The parties with turns, the next one first. One whose calls were all taken out has no call until its turn.
    turns: VecDeque<Party>,
    /// Number of calls that wait.
    count: usize,
    /// The number of the current time of [`PATIENCE`], and its end.
    time: u64,
    until: Option<Instant>,
    /// The last time in which several parties count.
    shared: u64,
}

/// The calls of a party.
#[derive(Debug)]
struct Flow {
    waiting: BTreeMap<u64, Descriptor>,
    has_turn: bool,
    /// Number of requests that are under way, and of those that may be beyond a part.
    under_way: usize,
    more: usize,
    /// The time of the last answer, of the last growth of the part, or of the first call.
    last: u64,
    /// Number of answers in that time.
    answers: usize,
}

impl FairQueue {
    pub(crate) fn new() -> Self {
        let (parties, turns) = Default::default();
        Self { parties, turns, count: 0, time: LINGERS, until: None, shared: 0 }
    }

    /// Notes the time.
    pub(crate) fn set_now(&mut self, now: Instant) {
        if self.until.is_none_or(|until| now >= until) {
            self.time += 1;
            self.until = Some(now + PATIENCE);
        }
    }

    /// Returns the time at which calls may leave the queue that may not now.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.until
    }

    /// Adds a call, or the cancellation of one that has left the queue.
    pub(crate) fn push(&mut self, call: u64, descriptor: Descriptor) {
        let party = Party::of(call);
        let flow = self.flow(party);
        let is_new = flow.waiting.insert(call, descriptor).is_none();
        let has_turn = std::mem::replace(&mut flow.has_turn, true);
        self.count += usize::from(is_new);
        if !has_turn {
            self.turns.push_back(party);
        }
    }

    /// Takes the next call that may leave the queue, if there is one.
    pub(crate) fn pop(&mut self) -> Option<Descriptor> {
        let (is_shared, time) = (self.is_shared(), self.time);
        for _ in 0..self.turns.len() {
            let party = self.turns.pop_front()?;
            let flow = self.parties.get_mut(&party)?;
            let is_held = is_shared && flow.is_full(time);
            let next = if is_held { None } else { flow.waiting.pop_first() };
            flow.has_turn = !flow.waiting.is_empty();
            if flow.has_turn {
                self.turns.push_back(party);
            }
            if let Some((_, descriptor)) = &next {
                self.count -= 1;
                flow.under_way += usize::from(matches!(descriptor, Descriptor::Request { .. }));
            }
            self.forget_idle(party);
            if let Some((_, descriptor)) = next {
                return Some(descriptor);
            }
        }
        None
    }

    /// Returns true for a request that need not wait, which is under way then.
    pub(crate) fn passes(&mut self, call: u64) -> bool {
        if !self.is_empty() {
            return false;
        }
        // A party that is new here is not full, so that it makes no difference to this.
        let (is_shared, time) = (self.is_shared(), self.time);
        let flow = self.flow(Party::of(call));
        let passes = !flow.is_full(time) || !is_shared;
        flow.under_way += usize::from(passes);
        passes
    }

    /// Notes that a request is not under way any more; one that waits was not. Returns true if others of its party wait.
    pub(crate) fn ended(&mut self, call: u64) -> bool {
        let (party, time) = (Party::of(call), self.time);
        let Some(flow) = self.parties.get_mut(&party) else { return false };
        if flow.waiting.contains_key(&call) {
            return false;
        }
        flow.on_answer(time);
        let others_wait = flow.has_turn;
        self.forget_idle(party);
        others_wait
    }

    /// Takes a call out that waits.
    pub(crate) fn take(&mut self, call: u64) -> Option<Descriptor> {
        let descriptor = self.parties.get_mut(&Party::of(call))?.waiting.remove(&call)?;
        self.count -= 1;
        Some(descriptor)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns true if several parties have calls, or had them lately.
    fn is_shared(&self) -> bool {
        self.parties.len() > 1 || self.time <= self.shared
    }

    fn flow(&mut self, party: Party) -> &mut Flow {
        let time = self.time;
        self.parties.entry(party).or_insert_with(|| Flow::new(time))
    }

    fn forget_idle(&mut self, party: Party) {
        if let Entry::Occupied(flow) = self.parties.entry(party)
            && flow.get().under_way == 0
            && !flow.get().has_turn
        {
            flow.remove();
            if !self.parties.is_empty() {
                self.shared = self.time + LINGERS;
            }
        }
    }
}

impl Flow {
    fn new(time: u64) -> Self {
        Self { waiting: BTreeMap::new(), has_turn: false, under_way: 0, more: 0, last: time, answers: 0 }
    }

    /// Returns true if the party has its part under way.
    fn is_full(&mut self, time: u64) -> bool {
        let is_crowd = self.waiting.len() > CROWD;
        let part = if is_crowd { PART_OF_A_CROWD } else { PART };
        // A whole time without an answer lies between.
        if self.under_way >= part + self.more && time >= self.last + 2 {
            self.more += PART;
            (self.last, self.answers) = (time, 0);
        }
        self.under_way >= part + self.more
    }

    fn on_answer(&mut self, time: u64) {
        if self.last != time {
            (self.last, self.answers) = (time, 0);
        }
        self.answers += 1;
        if self.answers >= PART {
            self.more = 0;
        }
        self.under_way = self.under_way.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha_managed::InHeap;

    fn request(party: u16, number: u64) -> (u64, Descriptor) {
        let (call, message) = (Party(party).call(number), InHeap::default());
        (call, Descriptor::Request { call, method: 0, message, milliseconds: 0, trace: None })
    }

    fn push(queue: &mut FairQueue, party: u16, numbers: impl IntoIterator<Item = u64>) {
        for (call, descriptor) in numbers.into_iter().map(|number| request(party, number)) {
            queue.push(call, descriptor);
        }
    }

    /// Takes the next calls, at most so many, as parties and numbers.
    fn pops(queue: &mut FairQueue, most: usize) -> Vec<(u16, u64)> {
        let next = std::iter::from_fn(|| queue.pop()).map(|descriptor| match descriptor {
            Descriptor::Request { call, .. } | Descriptor::Cancellation { call } => call,
            other => panic!("{other:?}"),
        });
        next.take(most).map(|call| (Party::of(call).0, call & 0xFFFF)).collect()
    }

    fn end(queue: &mut FairQueue, party: u16, numbers: impl IntoIterator<Item = u64>) {
        numbers.into_iter().for_each(|number| _ = queue.ended(Party(party).call(number)));
    }

    #[test]
    fn parties_have_turns_and_the_items_of_each_stay_in_order() {
        let mut queue = FairQueue::new();
        push(&mut queue, 0, 0..50);
        push(&mut queue, 1, 0..2);
        assert_eq!(pops(&mut queue, 5), [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2)]);
        push(&mut queue, 1, [2]);
        assert_eq!(pops(&mut queue, 2), [(0, 3), (1, 2)]);
        assert_eq!(pops(&mut queue, 100).len(), 46);
        end(&mut queue, 0, 0..50);
        end(&mut queue, 1, 0..3);
        assert!(queue.is_empty() && queue.parties.is_empty() && queue.turns.is_empty());
    }

    #[test]
    fn a_party_whose_items_come_and_are_taken_out_has_one_turn() {
        let mut queue = FairQueue::new();
        for number in 0..1000 {
            push(&mut queue, 0, [number]);
            assert!(queue.take(Party(0).call(number)).is_some());
            assert!(queue.take(Party(0).call(number)).is_none());
        }
        assert!(queue.is_empty() && queue.turns.len() == 1);
        push(&mut queue, 1, [0, 1]);
        push(&mut queue, 0, [1000, 1001]);
        assert_eq!(pops(&mut queue, 9), [(0, 1000), (1, 0), (0, 1001), (1, 1)]);
        push(&mut queue, 0, [1002]);
        assert!(queue.take(Party(0).call(1002)).is_some());
        assert!(queue.pop().is_none());
        end(&mut queue, 0, 1000..1002);
        end(&mut queue, 1, 0..2);
        assert!(queue.is_empty() && queue.parties.is_empty() && queue.turns.is_empty());
    }

    #[test]
    fn a_party_that_is_alone_has_all_its_calls_under_way() {
        let mut queue = FairQueue::new();
        push(&mut queue, 0, 0..1000);
        assert_eq!(pops(&mut queue, 2000).len(), 1000);
    }

    #[test]
    fn a_party_beside_another_has_its_part_under_way() {
        let mut queue = FairQueue::new();
        let now = Instant::now();
        queue.set_now(now);
        push(&mut queue, 0, 0..500);
        push(&mut queue, 1, 0..10);
        let first = pops(&mut queue, 2000);
        assert_eq!((first.len(), first[0..3].to_vec()), (PART + 10, vec![(0, 0), (1, 0), (0, 1)]));
        // An answer makes room for a call. One that waits and is cancelled makes none.
        assert!(queue.ended(Party(0).call(0)) && !queue.ended(Party(0).call(499)));
        assert_eq!(pops(&mut queue, 2000), [(0, 64)]);
        // A party counts as long as a call of it is under way, and for some time behind it.
        end(&mut queue, 1, 0..10);
        for later in 1..=LINGERS {
            queue.set_now(now + PATIENCE * later as u32);
            assert!(queue.pop().is_none(), "{later}");
            end(&mut queue, 0, [later]);
            assert_eq!(pops(&mut queue, 2000).len(), 1);
        }
        queue.set_now(now + PATIENCE * (LINGERS as u32 + 1));
        assert_eq!(pops(&mut queue, 2000).len(), 500 - PART - 3);
    }

    #[test]
    fn a_server_that_takes_long_has_more_of_a_party_under_way() {
        let mut queue = FairQueue::new();
        let now = Instant::now();
        queue.set_now(now);
        push(&mut queue, 0, 0..500);
        push(&mut queue, 1, [0]);
        let counts = (0..5).map(|later| {
            queue.set_now(now + PATIENCE * later);
            pops(&mut queue, 2000).len()
        });
        assert_eq!(counts.collect::<Vec<_>>(), [PART + 1, 0, PART, 0, PART]);
        // It answers quickly again.
        end(&mut queue, 0, 0..PART as u64);
        assert!(queue.pop().is_none(), "more than a part is under way");
        end(&mut queue, 0, PART as u64..3 * PART as u64);
        assert_eq!(pops(&mut queue, 2000).len(), PART);
    }

    #[test]
    fn a_party_with_a_crowd_of_calls_has_less_under_way() {
        let mut queue = FairQueue::new();
        let now = Instant::now();
        queue.set_now(now);
        push(&mut queue, 0, 0..1000);
        push(&mut queue, 1, 0..10);
        let crowd = PART_OF_A_CROWD as u64;
        assert_eq!(pops(&mut queue, 2000).len() as u64, crowd + 10);
        end(&mut queue, 0, 0..crowd);
        assert_eq!(pops(&mut queue, 2000).len() as u64, crowd);
        // It has its part again when most were cancelled.
        for number in 500..1000 {
            assert!(queue.take(Party(0).call(number)).is_some());
        }
        assert_eq!(pops(&mut queue, 2000).len(), PART - PART_OF_A_CROWD);
        // A server that takes long has more of a crowd, too.
        push(&mut queue, 0, 1000..2000);
        queue.set_now(now + 2 * PATIENCE);
        queue.set_now(now + 4 * PATIENCE);
        assert_eq!(pops(&mut queue, 2000).len(), PART_OF_A_CROWD);
    }

    #[test]
    fn a_request_passes_if_nothing_waits_and_there_is_room() {
        let mut queue = FairQueue::new();
        let passes = |queue: &mut FairQueue, party, number| queue.passes(request(party, number).0);
        assert!((0..1000).all(|number| passes(&mut queue, 0, number)), "alone");
        assert!(passes(&mut queue, 1, 0));
        assert!(!passes(&mut queue, 0, 1000));
        push(&mut queue, 0, [1000]);
        assert!(!passes(&mut queue, 1, 1), "another waits");
    }
}
