//! Loss detection and probe time-outs (RFC 9002, section 6 and appendix A).

use super::reordering::Reordering;
use super::rtt::Rtt;
use crate::congestion::delivery_rate::Snapshot;
use crate::reliable::wire::{Fault, Ranges};
use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The packet threshold: a packet is lost once a packet that is this many numbers later is acknowledged (section 6.1.1), on a path that keeps
/// packets in order.
pub(super) const PACKET_THRESHOLD: u64 = 3;

/// The number of packets that are remembered. Nothing is sent beyond it.
pub(super) const MAX_RECORDS: usize = 16_384;

/// The number of lost packets that are remembered although all packets before them are forgotten, since they may arrive late.
const MAX_LOST: usize = 1_024;

/// The number of times that the probe time-out doubles.
const MAX_DOUBLINGS: u32 = 10;

#[derive(Debug)]
pub(super) struct Recovery {
    /// Packets, from the oldest that is neither acknowledged nor lost.
    sent: VecDeque<Sent>,
    /// The number of the first.
    first: u64,
    /// Lost packets before the first that may still arrive, with their numbers, in order.
    lost: VecDeque<Lost>,
    reordering: Reordering,
    newest_acked: Option<u64>,
    /// The number that was last skipped: a peer that acknowledges it is faulty (RFC 9000, section 21.4).
    skipped: Option<u64>,
    pub(super) bytes_in_flight: u64,
    pub(super) packets_in_flight: u64,
    /// The time at which the next packet is declared lost.
    loss_at: Option<Duration>,
    last_sent: Duration,
    /// The number of consecutive time-outs.
    pub(super) timeouts: u32,
    pub(super) rtt: Rtt,
}

/// A packet that was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    state: PacketState,
    pub(super) at: Duration,
    pub(super) bytes: u64,
    pub(super) contents: Contents,
    pub(super) snapshot: Snapshot,
}

/// A packet that was declared lost.
#[derive(Debug, Clone, Copy)]
struct Lost {
    number: u64,
    sent: Sent,
}

/// The contents of a packet that have to arrive.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Contents {
    pub(super) first: u64,
    pub(super) count: u32,
    pub(super) last: bool,
    pub(super) grant: bool,
    /// True if the packet left in pieces.
    pub(super) is_cut: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PacketState {
    InFlight,
    Acked,
    Lost,
    /// The number was skipped.
    Skipped,
}

/// A packet that is declared lost.
#[cfg_attr(not(feature = "qlog"), allow(dead_code, reason = "only the qlog tells packets apart"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LostPacket {
    pub(super) number: u64,
    /// True if its acknowledgement is overdue, and not only later packets were acknowledged.
    pub(super) is_overdue: bool,
}

/// The outcome of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Acknowledged; `in_order` if nothing older was outstanding.
    Acked { in_order: bool },
    /// Acknowledged after it was declared lost.
    Late,
}

impl Recovery {
    pub(super) fn new() -> Self {
        Self {
            sent: VecDeque::new(),
            first: 0,
            lost: VecDeque::new(),
            reordering: Reordering::default(),
            newest_acked: None,
            skipped: None,
            bytes_in_flight: 0,
            packets_in_flight: 0,
            loss_at: None,
            last_sent: Duration::ZERO,
            timeouts: 0,
            rtt: Rtt::default(),
        }
    }

    /// Returns the number of the next packet.
    pub(super) fn next(&self) -> u64 {
        self.first + self.sent.len() as u64
    }

    /// Returns the number of packets that are remembered.
    #[cfg(test)]
    pub(super) fn records(&self) -> usize {
        self.sent.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.sent.len() >= MAX_RECORDS
    }

    /// Records the packet with the next number.
    pub(super) fn on_sent(&mut self, at: Duration, bytes: u64, contents: Contents, snapshot: Snapshot) {
        self.sent.push_back(Sent { state: PacketState::InFlight, at, bytes, contents, snapshot });
        self.bytes_in_flight += bytes;
        self.packets_in_flight += 1;
        self.last_sent = at;
    }

    /// Skips a number.
    pub(super) fn skip(&mut self, at: Duration) {
        let contents = Contents::default();
        let snapshot = Snapshot::default();
        self.skipped = Some(self.next());
        self.sent.push_back(Sent { state: PacketState::Skipped, at, bytes: 0, contents, snapshot });
    }

    /// Handles an acknowledgement, and reports each packet to `on_packet`. Returns true if it acknowledges a packet in flight.
    ///
    /// # Errors
    /// A [`Fault`] if the peer acknowledges a packet that was not sent.
    pub(super) fn on_ack(
        &mut self,
        ranges: &Ranges,
        delay: Duration,
        now: Duration,
        mut on_packet: impl FnMut(&Sent, Outcome),
    ) -> Result<bool, Fault> {
        let Some(newest) = ranges.newest() else { return Ok(false) };
        let is_skipped =
            |range: RangeInclusive<u64>| self.skipped.is_some_and(|skipped| range.contains(&skipped));
        if newest >= self.next() || ranges.iter().any(is_skipped) {
            return Err(Fault::AcknowledgedUnsent);
        }
        let mut any = false;
        let before = self.newest_acked;
        for range in ranges.iter() {
            self.lost.retain(|lost| {
                let has_arrived = range.contains(&lost.number);
                if has_arrived {
                    self.reordering.on_overtaken(now.saturating_sub(lost.sent.at));
                    on_packet(&lost.sent, Outcome::Late);
                }
                !has_arrived
            });
            for number in self.first.max(*range.start())..=*range.end() {
                // `first` may have advanced beyond this number.
                let Some(sent) = number.checked_sub(self.first).and_then(|at| self.sent.get_mut(at as usize))
                else {
                    continue;
                };
                match sent.state {
                    PacketState::Skipped | PacketState::Acked => {}
                    PacketState::Lost => {
                        sent.state = PacketState::Acked;
                        self.reordering.on_overtaken(now.saturating_sub(sent.at));
                        on_packet(sent, Outcome::Late);
                    }
                    PacketState::InFlight => {
                        any = true;
                        sent.state = PacketState::Acked;
                        self.bytes_in_flight -= sent.bytes;
                        self.packets_in_flight -= 1;
                        let sent = *sent;
                        if before.is_some_and(|before| number < before) {
                            self.reordering.on_overtaken(now.saturating_sub(sent.at));
                        }
                        if number == newest {
                            self.rtt.sample(now.saturating_sub(sent.at), delay, now);
                        }
                        on_packet(&sent, Outcome::Acked { in_order: number == self.first });
                        self.forget_oldest();
                    }
                }
            }
        }
        self.newest_acked = self.newest_acked.max(Some(newest));
        if any {
            self.timeouts = 0;
        }
        Ok(any)
    }

    /// Finds lost packets (appendix A.10), and reports each to `on_packet`. Returns true if they show persistent congestion.
    pub(super) fn find_lost(&mut self, now: Duration, mut on_packet: impl FnMut(&Sent, LostPacket)) -> bool {
        self.loss_at = None;
        let Some(newest) = self.newest_acked else { return false };
        let delay = self.reordering.delay(self.rtt.loss_delay(), self.rtt.persistent());
        let counts_packets = self.reordering.counts_packets();
        let persistent = self.rtt.persistent();
        let mut lost_since = None;
        let mut is_persistent = false;
        let Some(before) = newest.checked_sub(self.first) else { return false };
        for (at, sent) in self.sent.iter_mut().enumerate().take(before as usize) {
            match sent.state {
                PacketState::Acked => lost_since = None,
                PacketState::Lost | PacketState::Skipped => {}
                PacketState::InFlight
                    if sent.at + delay <= now
                        || (counts_packets && before - at as u64 >= PACKET_THRESHOLD) =>
                {
                    sent.state = PacketState::Lost;
                    self.reordering.on_lost(sent.at, now);
                    self.bytes_in_flight -= sent.bytes;
                    self.packets_in_flight -= 1;
                    let number = self.first + at as u64;
                    on_packet(sent, LostPacket { number, is_overdue: sent.at + delay <= now });
                    // Only packets sent after the first sample count (section 7.6.2).
                    if self.rtt.first_sample.is_some_and(|first| sent.at > first) {
                        let since = *lost_since.get_or_insert(sent.at);
                        is_persistent |= sent.at.saturating_sub(since) > persistent;
                    }
                }
                PacketState::InFlight => {
                    let at = sent.at + delay;
                    self.loss_at = Some(self.loss_at.map_or(at, |loss_at| loss_at.min(at)));
                }
            }
        }
        self.forget_oldest();
        // Far longer than the wait for any packet.
        let timeout = self.rtt.persistent() * 2;
        while self.lost.front().is_some_and(|lost| lost.sent.at + timeout < now) {
            self.lost.pop_front();
        }
        is_persistent
    }

    /// Returns the expiry of the loss timer (appendix A.8), or `None` if nothing is in flight. About thirty probes are sent within the time-out
    /// `idle`, if round trips are short enough.
    pub(super) fn timer(&self, idle: Duration) -> Option<Duration> {
        self.loss_at.or_else(|| (self.packets_in_flight > 0).then(|| self.probe_at(idle)))
    }

    /// Returns true if the timer that expired is the loss timer and not a probe time-out.
    pub(super) fn is_loss_due(&self, now: Duration) -> bool {
        self.loss_at.is_some_and(|at| at <= now)
    }

    fn probe_at(&self, idle: Duration) -> Duration {
        let single = self.rtt.probe_timeout();
        let doubled = single * (1 << self.timeouts.min(MAX_DOUBLINGS));
        // The RFC sets no bound. Two packets in a thirtieth of the idle time-out burden no path, and without them a few losses
        // in a row would use it up. A process that was stopped has measured a round trip as long as its stop: its probes come
        // as often as keep-alives.
        self.last_sent + doubled.min(single.max(idle / 30)).min(idle / 3)
    }

    /// Forgets the packets in flight: the peer no longer answers.
    pub(super) fn clear(&mut self) {
        self.first = self.next();
        self.sent.clear();
        self.lost.clear();
        (self.bytes_in_flight, self.packets_in_flight, self.loss_at) = (0, 0, None);
    }

    /// Forgets the oldest packets up to the first in flight.
    fn forget_oldest(&mut self) {
        while let Some(sent) = self.sent.pop_front_if(|sent| sent.state != PacketState::InFlight) {
            if sent.state == PacketState::Lost {
                if self.lost.len() == MAX_LOST {
                    self.lost.pop_front();
                }
                self.lost.push_back(Lost { number: self.first, sent });
            }
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    const IDLE: Duration = Duration::from_secs(30);

    /// `count` packets, one each millisecond.
    fn sent(count: u64) -> Recovery {
        let mut recovery = Recovery::new();
        for number in 0..count {
            let contents = Contents { first: number, count: 1, ..Contents::default() };
            recovery.on_sent(ms(number), 1000, contents, Snapshot::default());
        }
        recovery
    }

    fn ranges(numbers: impl IntoIterator<Item = u64>) -> Ranges {
        let mut ranges = Ranges::NONE;
        numbers.into_iter().for_each(|number| {
            ranges.insert(number);
        });
        ranges
    }

    fn acked(
        recovery: &mut Recovery,
        numbers: impl IntoIterator<Item = u64>,
        now: Duration,
    ) -> Vec<(u64, Outcome)> {
        let mut reported = Vec::new();
        let on_packet = |sent: &Sent, outcome| reported.push((sent.contents.first, outcome));
        recovery.on_ack(&ranges(numbers), Duration::ZERO, now, on_packet).unwrap();
        reported
    }

    fn lost(recovery: &mut Recovery, now: Duration) -> (Vec<u64>, bool) {
        let mut reported = Vec::new();
        let persistent = recovery.find_lost(now, |sent, _| reported.push(sent.contents.first));
        (reported, persistent)
    }

    #[test]
    fn order_is_reported_and_each_packet_counts_once() {
        let mut recovery = sent(4);
        let (in_order, not) = (Outcome::Acked { in_order: true }, Outcome::Acked { in_order: false });
        assert_eq!(acked(&mut recovery, [0, 2], ms(50)), [(0, in_order), (2, not)]);
        assert_eq!(acked(&mut recovery, [0, 1, 2], ms(51)), [(1, in_order)]);
        assert_eq!((recovery.bytes_in_flight, recovery.packets_in_flight), (1000, 1));
    }

    #[test]
    fn three_packets_later_or_nine_eighths_of_a_round_trip() {
        let mut recovery = sent(6);
        acked(&mut recovery, [4], ms(44));
        assert_eq!(lost(&mut recovery, ms(44)), (vec![0, 1], false));
        // 2 was sent at 2 ms, and the round trip takes 40.
        assert_eq!(recovery.timer(IDLE), Some(ms(47)));
        assert!(!recovery.is_loss_due(ms(46)) && recovery.is_loss_due(ms(47)));
        assert_eq!(lost(&mut recovery, ms(47)), (vec![2], false));
        assert_eq!(lost(&mut recovery, ms(48)), (vec![3], false));
        assert_eq!(recovery.packets_in_flight, 1);
    }

    #[test]
    fn what_was_lost_too_early_is_reported() {
        let mut recovery = sent(6);
        acked(&mut recovery, [5], ms(45));
        assert_eq!(lost(&mut recovery, ms(45)).0, [0, 1, 2]);
        // Nothing is left before the one in flight, and they are still known: once each.
        assert_eq!(acked(&mut recovery, [1, 2], ms(46)), [(1, Outcome::Late), (2, Outcome::Late)]);
        assert_eq!(acked(&mut recovery, [1, 2], ms(47)), []);
        assert_eq!(
            acked(&mut recovery, [0, 3], ms(2_000)),
            [(0, Outcome::Late), (3, Outcome::Acked { in_order: true })]
        );
    }

    #[test]
    fn once_packets_overtake_each_other_only_time_counts() {
        let mut recovery = sent(12);
        acked(&mut recovery, [2], ms(42));
        // 1 was overtaken.
        acked(&mut recovery, [1], ms(43));
        acked(&mut recovery, [11], ms(44));
        assert_eq!(lost(&mut recovery, ms(44)).0, [0_u64; 0]);
        // It has 9/8 of a round trip of 39 ms.
        assert_eq!(lost(&mut recovery, ms(46)).0, [0]);
        // Others may take as long as that one.
        assert_eq!(acked(&mut recovery, [0], ms(56)), [(0, Outcome::Late)]);
        assert_eq!(lost(&mut recovery, ms(57)).0, [0_u64; 0]);
        assert_eq!(lost(&mut recovery, ms(100)).0, [3, 4, 5, 6, 7, 8, 9, 10]);
    }

    #[test]
    fn probes_double_up_to_a_bound() {
        let mut recovery = sent(1);
        let first = recovery.timer(IDLE).unwrap();
        assert_eq!(first, Duration::from_millis(333 + 666 + 1));
        recovery.timeouts = 1;
        assert_eq!(recovery.timer(IDLE * 10), Some(first * 2));
        recovery.timeouts = 60;
        assert_eq!(recovery.timer(IDLE * 10), Some(ms(10_000)));
        assert_eq!(recovery.timer(IDLE), Some(first));
        acked(&mut recovery, [0], ms(40));
        assert_eq!((recovery.timer(IDLE), recovery.timeouts), (None, 0));
    }

    #[test]
    fn everything_lost_for_long_is_persistent_congestion() {
        let mut recovery = sent(1);
        acked(&mut recovery, [0], ms(40));
        let patient = recovery.rtt.persistent();
        for at in [ms(50), ms(60), ms(50) + patient + ms(1), ms(2000)] {
            recovery.on_sent(at, 1000, Contents::default(), Snapshot::default());
        }
        acked(&mut recovery, [4], ms(2040));
        assert_eq!(lost(&mut recovery, ms(2040)), (vec![0, 0, 0], true));
    }

    #[test]
    fn who_acknowledges_what_was_not_sent_is_caught() {
        let mut recovery = sent(3);
        let fault = Err(Fault::AcknowledgedUnsent);
        assert_eq!(recovery.on_ack(&ranges([3]), ms(0), ms(40), |_, _| {}), fault);
        recovery.skip(ms(3));
        recovery.on_sent(ms(4), 1000, Contents::default(), Snapshot::default());
        assert_eq!(recovery.on_ack(&ranges([2, 4]), ms(0), ms(40), |_, _| {}), Ok(true));
        assert_eq!(recovery.on_ack(&ranges([2, 3, 4]), ms(0), ms(40), |_, _| {}), fault);
    }
}
