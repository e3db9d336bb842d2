//! The gathering of acknowledgements, without I/O.

use crate::QueueStatistics;
use bertha_core::backoff::Backoff;
use bertha_core::buf::Fate;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

/// The place of a received message, as its buffer knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    burst: u64,
    at: usize,
}

/// The effect of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// The application has finished with the messages.
    Acknowledge,
    /// The messages are to be delivered again.
    GiveBack,
    /// The messages are to be delivered again, and no application has seen them.
    GiveBackUnseen,
}

/// A call to make.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Call<R> {
    pub(super) effect: Effect,
    pub(super) receipts: Vec<R>,
}

/// The receipts of all messages that were received and not settled yet.
#[derive(Debug)]
pub(super) struct Gathering<R> {
    /// Bursts with messages that are still held.
    bursts: HashMap<u64, Burst<R>>,
    last_burst: u64,
    /// Messages that were not handed out yet, in their order.
    unseen: VecDeque<Place>,
    acknowledge: Vec<R>,
    give_back: Vec<R>,
    give_back_unseen: Vec<R>,
    /// Dropped messages by the time at which they are given back, in the order in which they were dropped.
    paused: BTreeMap<(Instant, u64), R>,
    /// The pauses of dropped messages, which grow until a message is done. So a receiver that fails at every message
    /// neither keeps the service busy, nor makes it put the messages aside within a moment.
    pauses: Backoff,
    /// Number of dropped messages.
    dropped: u64,
    /// Time at which the gathered acknowledgements are sent.
    due: Option<Instant>,
    batch: usize,
}

/// The time for which acknowledgements wait for further acknowledgements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AckDelay {
    /// The acknowledgements of a burst wait for acknowledgements of other bursts, too.
    For(Duration),
    /// The delay ends early when the burst has no held message; then all gathered acknowledgements are due.
    ForBurst(Duration),
}

#[derive(Debug)]
struct Burst<R> {
    receipts: Vec<Option<R>>,
    held: usize,
    ack_delay: AckDelay,
}

impl<R> Gathering<R> {
    /// Creates an empty table. At most `batch` receipts go into a call.
    pub(super) fn new(batch: usize, pauses: Backoff) -> Self {
        Self {
            bursts: HashMap::new(),
            last_burst: 0,
            unseen: VecDeque::new(),
            acknowledge: Vec::new(),
            give_back: Vec::new(),
            give_back_unseen: Vec::new(),
            paused: BTreeMap::new(),
            pauses,
            dropped: 0,
            due: None,
            batch: batch.max(1),
        }
    }

    /// Adds a burst, and returns the places of its messages.
    pub(super) fn receive(
        &mut self,
        receipts: Vec<R>,
        ack_delay: AckDelay,
    ) -> impl Iterator<Item = Place> + use<R> {
        self.last_burst += 1;
        let burst = self.last_burst;
        let held = receipts.len();
        if held > 0 {
            let receipts = receipts.into_iter().map(Some).collect();
            self.bursts.insert(burst, Burst { receipts, held, ack_delay });
        }
        let places = (0..held).map(move |at| Place { burst, at });
        self.unseen.extend(places.clone());
        places
    }

    /// Records that the application got the next messages, in the order in which they were received.
    pub(super) fn hand_out(&mut self, mut messages: usize) {
        while messages > 0
            && let Some(place) = self.unseen.pop_front()
        {
            // A message that was given back before is handed out to nobody.
            messages -= usize::from(self.receipt(place).is_some());
        }
    }

    /// Adds the numbers of messages that are not settled.
    pub(super) fn observe(&self, into: &mut QueueStatistics) {
        let held: usize = self.bursts.values().map(|burst| burst.held).sum();
        into.dropped = self.dropped;
        // A message that was given back unseen is in the list until the messages before it are handed out.
        into.held_messages = held.saturating_sub(self.unseen.len()) as u64;
        into.to_acknowledge = self.acknowledge.len() as u64;
        into.to_give_back = (self.give_back.len() + self.give_back_unseen.len() + self.paused.len()) as u64;
    }

    fn receipt(&mut self, place: Place) -> Option<&mut Option<R>> {
        let burst = self.bursts.get_mut(&place.burst)?;
        burst.receipts.get_mut(place.at).filter(|receipt| receipt.is_some())
    }

    /// Records that the message is not held any more. Returns true if this changes [`next`](Self::next) or
    /// [`due`](Self::due).
    pub(super) fn release(&mut self, place: Place, fate: Fate, now: Instant) -> bool {
        let Some(burst) = self.bursts.get_mut(&place.burst) else { return false };
        let Some(receipt) = burst.receipts.get_mut(place.at).and_then(Option::take) else { return false };
        burst.held -= 1;
        let is_last = burst.held == 0;
        let ack_delay = burst.ack_delay;
        if is_last {
            self.bursts.remove(&place.burst);
        }
        let due = self.due;
        match fate {
            Fate::Done => {
                self.pauses.reset();
                self.acknowledge.push(receipt);
            }
            Fate::GivenBack => self.give_back.push(receipt),
            Fate::Dropped => {
                self.dropped += 1;
                // The whole pause: messages come back in the order in which they were dropped.
                self.paused.insert((now + self.pauses.pause(u64::MAX), self.dropped), receipt);
            }
        }
        self.set_due_by(match ack_delay {
            AckDelay::ForBurst(_) if is_last => now,
            AckDelay::ForBurst(delay) | AckDelay::For(delay) => now + delay,
        });
        // A full batch wakes the task once, at the message that completes the batch.
        fate != Fate::Done || self.due != due || self.acknowledge.len() == self.batch
    }

    /// Makes all gathered acknowledgements due at once.
    pub(super) fn flush(&mut self, now: Instant) {
        self.set_due_by(now);
    }

    /// Makes all gathered acknowledgements due at this time, or earlier.
    fn set_due_by(&mut self, at: Instant) {
        if !self.acknowledge.is_empty() {
            self.due = Some(self.due.map_or(at, |due| due.min(at)));
        }
    }

    /// Makes everything due at once: messages that are still held, or wait after a failure, are given back. The bursts are given back
    /// in no particular order, since the service decides when it delivers each message again.
    pub(super) fn end(&mut self, now: Instant) {
        self.flush(now);
        for place in std::mem::take(&mut self.unseen) {
            let receipt = self.receipt(place).and_then(Option::take);
            self.give_back_unseen.extend(receipt);
        }
        let held = self.bursts.drain().flat_map(|(_, burst)| burst.receipts.into_iter().flatten());
        self.give_back.extend(held);
        self.give_back.extend(std::mem::take(&mut self.paused).into_values());
    }

    /// Returns the next call to make now.
    pub(super) fn next(&mut self, now: Instant) -> Option<Call<R>> {
        while let Some(entry) = self.paused.first_entry()
            && entry.key().0 <= now
        {
            self.give_back.push(entry.remove());
        }
        if !self.give_back.is_empty() {
            let receipts = take_first(&mut self.give_back, self.batch);
            return Some(Call { effect: Effect::GiveBack, receipts });
        }
        if !self.give_back_unseen.is_empty() {
            let receipts = take_first(&mut self.give_back_unseen, self.batch);
            return Some(Call { effect: Effect::GiveBackUnseen, receipts });
        }
        let is_due = self.due.is_some_and(|due| due <= now);
        if self.acknowledge.len() < self.batch && !is_due {
            return None;
        }
        let receipts = take_first(&mut self.acknowledge, self.batch);
        if self.acknowledge.is_empty() {
            self.due = None;
        }
        (!receipts.is_empty()).then_some(Call { effect: Effect::Acknowledge, receipts })
    }

    /// Returns the time at which a call is due: gathered acknowledgements, or a dropped message.
    pub(super) fn due(&self) -> Option<Instant> {
        let paused = self.paused.first_key_value().map(|((due, _), _)| *due);
        self.due.into_iter().chain(paused).min()
    }

    /// Returns true if nothing is left to send now. Dropped messages wait for their time.
    pub(super) fn has_nothing_to_send(&self) -> bool {
        self.acknowledge.is_empty() && self.give_back.is_empty() && self.give_back_unseen.is_empty()
    }
}

fn take_first<R>(receipts: &mut Vec<R>, count: usize) -> Vec<R> {
    let rest = receipts.split_off(count.min(receipts.len()));
    std::mem::replace(receipts, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Fate::{Done, Dropped, GivenBack};

    const DELAY: Duration = Duration::from_millis(10);
    const BURST: AckDelay = AckDelay::ForBurst(DELAY);

    fn acknowledge(receipts: impl IntoIterator<Item = u32>) -> Option<Call<u32>> {
        Some(Call { effect: Effect::Acknowledge, receipts: receipts.into_iter().collect() })
    }

    fn gathering(batch: usize) -> (Gathering<u32>, Instant) {
        (Gathering::new(batch, Backoff::new(DELAY, 4 * DELAY)), Instant::now())
    }

    #[test]
    fn a_burst_that_is_done_with_takes_one_call() {
        let (mut gathering, now) = gathering(10);
        let places: Vec<_> = gathering.receive((0..7).collect(), BURST).collect();
        for place in &places[..6] {
            gathering.release(*place, Done, now);
            assert_eq!((gathering.next(now), gathering.due()), (None, Some(now + DELAY)));
        }
        gathering.release(places[6], Done, now);
        assert_eq!(gathering.next(now), acknowledge(0..7));
        assert!(
            gathering.has_nothing_to_send()
                && gathering.due().is_none()
                && gathering.next(now + DELAY).is_none()
        );
    }

    #[test]
    fn a_message_alone_is_acknowledged_at_once() {
        let (mut gathering, now) = gathering(10);
        for receipt in 0..3 {
            let place = gathering.receive(vec![receipt], BURST).next().unwrap();
            gathering.release(place, Done, now);
            assert_eq!(gathering.next(now), acknowledge([receipt]));
        }
    }

    #[test]
    fn acknowledgements_wait_for_those_of_other_bursts() {
        let (mut gathering, now) = gathering(4);
        let mut release = |receipts: [u32; 1], at| {
            let place = gathering.receive(receipts.into(), AckDelay::For(DELAY)).next().unwrap();
            let changes = gathering.release(place, Done, at);
            (changes, gathering.next(at), gathering.due())
        };
        assert_eq!(release([0], now), (true, None, Some(now + DELAY)));
        // The task need not look at these.
        assert_eq!(release([1], now + DELAY / 2), (false, None, Some(now + DELAY)));
        assert_eq!(release([2], now + DELAY / 2), (false, None, Some(now + DELAY)));
        assert_eq!(release([3], now + DELAY / 2), (true, acknowledge(0..4), None));
        assert_eq!(release([4], now + DELAY), (true, None, Some(now + 2 * DELAY)));
        assert_eq!(release([5], now + 2 * DELAY), (false, acknowledge([4, 5]), None));
    }

    #[test]
    fn while_one_is_held_the_others_wait_for_the_delay_or_a_full_batch() {
        let (mut gathering, now) = gathering(3);
        let places: Vec<_> = gathering.receive((0..6).collect(), BURST).collect();
        gathering.release(places[4], Done, now);
        gathering.release(places[1], Done, now + DELAY / 2);
        assert_eq!(gathering.next(now + DELAY / 2), None);
        assert_eq!(gathering.next(now + DELAY), acknowledge([4, 1]));
        for at in [0, 2, 3] {
            assert_eq!(gathering.next(now + DELAY), None);
            gathering.release(places[at], Done, now + DELAY);
        }
        assert_eq!(gathering.next(now + DELAY), acknowledge([0, 2, 3]));
        assert_eq!((gathering.next(now + 9 * DELAY), gathering.due()), (None, None));
    }

    #[test]
    fn a_call_carries_a_batch_at_most() {
        let (mut gathering, now) = gathering(2);
        let places: Vec<_> = gathering.receive((0..5).collect(), BURST).collect();
        for place in places {
            gathering.release(place, Done, now);
        }
        let calls = [(); 4].map(|()| gathering.next(now));
        assert_eq!(calls, [acknowledge([0, 1]), acknowledge([2, 3]), acknowledge([4]), None]);
    }

    #[test]
    fn what_is_given_back_goes_first_and_at_once() {
        let (mut gathering, now) = gathering(10);
        let places: Vec<_> = gathering.receive((0..3).collect(), BURST).collect();
        gathering.release(places[0], Done, now);
        gathering.release(places[1], GivenBack, now);
        assert_eq!(gathering.next(now), Some(Call { effect: Effect::GiveBack, receipts: vec![1] }));
        assert_eq!(gathering.next(now), None);
        // The burst has been settled, so its acknowledgement is due.
        gathering.release(places[2], GivenBack, now);
        assert_eq!(gathering.next(now), Some(Call { effect: Effect::GiveBack, receipts: vec![2] }));
        assert_eq!(gathering.next(now), acknowledge([0]));
    }

    #[test]
    fn the_end_gives_back_what_is_held_and_settles_each_message_once() {
        let (mut gathering, now) = gathering(10);
        let places: Vec<_> = gathering.receive((0..3).collect(), BURST).collect();
        gathering.hand_out(3);
        gathering.release(places[1], Done, now);
        gathering.end(now);
        assert_eq!(gathering.next(now), Some(Call { effect: Effect::GiveBack, receipts: vec![0, 2] }));
        assert_eq!(gathering.next(now), acknowledge([1]));
        for place in places {
            gathering.release(place, Done, now);
        }
        assert!(gathering.has_nothing_to_send() && gathering.next(now + DELAY).is_none());
    }

    #[test]
    fn what_nobody_has_seen_is_given_back_apart() {
        let (mut gathering, now) = gathering(10);
        let places: Vec<_> = gathering.receive((0..5).collect(), BURST).collect();
        // The second message is too long for a buffer.
        gathering.release(places[1], GivenBack, now);
        gathering.hand_out(2);
        gathering.release(places[0], Done, now);
        gathering.end(now);
        assert_eq!(gathering.next(now), Some(Call { effect: Effect::GiveBack, receipts: vec![1, 2] }));
        assert_eq!(gathering.next(now), Some(Call { effect: Effect::GiveBackUnseen, receipts: vec![3, 4] }));
        assert_eq!(gathering.next(now), acknowledge([0]));
        assert!(gathering.has_nothing_to_send() && gathering.next(now).is_none());
    }

    #[test]
    fn a_place_is_released_once() {
        let (mut gathering, now) = gathering(10);
        let places: Vec<_> = gathering.receive(vec![7, 8], BURST).collect();
        gathering.release(places[0], Done, now);
        gathering.release(places[0], Done, now);
        gathering.release(places[1], Done, now);
        assert_eq!(gathering.next(now), acknowledge([7, 8]));
    }

    #[test]
    fn a_dropped_message_is_given_back_after_a_pause_that_grows_until_a_message_is_done() {
        let (mut gathering, now) = gathering(10);
        let mut receipt = 0;
        let mut drop_one = |gathering: &mut Gathering<u32>, fate| {
            receipt += 1;
            let place = gathering.receive(vec![receipt], BURST).next().unwrap();
            assert!(gathering.release(place, fate, now));
            gathering.due().unwrap() - now
        };
        for pause in [1, 2, 4, 4] {
            assert_eq!(drop_one(&mut gathering, Dropped), pause * DELAY);
            assert_eq!((gathering.next(now), gathering.next(now + pause * DELAY - DELAY / 2)), (None, None));
            let call = gathering.next(now + pause * DELAY).unwrap();
            assert_eq!((call.effect, call.receipts.len(), gathering.due()), (Effect::GiveBack, 1, None));
        }
        drop_one(&mut gathering, Done);
        assert_eq!(gathering.next(now), acknowledge([5]));
        assert_eq!(drop_one(&mut gathering, Dropped), DELAY);
        // The end gives back at once.
        gathering.end(now);
        assert_eq!(gathering.next(now), Some(Call { effect: Effect::GiveBack, receipts: vec![6] }));
        assert!(gathering.has_nothing_to_send() && gathering.due().is_none());
    }
}
