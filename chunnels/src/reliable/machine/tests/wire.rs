//! The simulated wire between two machines.

use super::*;
use crate::reliable::wire::decode;
use std::collections::BTreeMap;

/// The percentage of packets for each fault.
#[derive(Clone, Copy)]
pub(super) struct Faults {
    pub(super) loss: u64,
    pub(super) duplication: u64,
    pub(super) reordering: u64,
    pub(super) corruption: u64,
}

impl Faults {
    pub(super) const NONE: Self = Self { loss: 0, duplication: 0, reordering: 0, corruption: 0 };
}

pub(super) struct Wire {
    pub(super) ends: [Machine; 2],
    pub(super) now: Duration,
    pub(super) faults: Faults,
    /// The number of a message whose first packet is lost.
    pub(super) lost_message: Option<u64>,
    /// True for an end whose connection below takes no packets.
    pub(super) is_blocked: [bool; 2],
    /// The length of the largest packet that the wire carries.
    pub(super) largest: usize,
    check: Check,
    /// Packets in flight, by arrival time, with their destination.
    packets: BTreeMap<(Duration, u64), (usize, Buf)>,
    sent: u64,
    dice: u64,
}

impl Wire {
    pub(super) fn new(seed: u64, faults: Faults) -> Self {
        Self::with(settings(), seed, faults)
    }

    pub(super) fn with(settings: ReliableSettings, seed: u64, faults: Faults) -> Self {
        // Layers that drop damaged packets make the check superfluous.
        let check = if faults.corruption == 0 && seed.is_multiple_of(2) { Check::Below } else { Check::Crc };
        Self {
            ends: [machine_with(settings.clone(), check, seed), machine_with(settings, check, seed / 4)],
            now: Duration::ZERO,
            faults,
            lost_message: None,
            is_blocked: [false; 2],
            largest: usize::MAX,
            check,
            packets: BTreeMap::new(),
            sent: 0,
            dice: seed,
        }
    }

    pub(super) fn roll(&mut self) -> u64 {
        self.dice = self.dice.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.dice ^ (self.dice >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 20
    }

    fn happens(&mut self, percent: u64) -> bool {
        self.roll() % 100 < percent
    }

    fn put(&mut self, to: usize, packet: &[u8]) {
        let mut delay = 10 * MS;
        if self.happens(self.faults.reordering) {
            delay += Duration::from_micros(self.roll() % 30_000);
        }
        let mut packet = Buf::copy_of(packet, 0).unwrap();
        if self.happens(self.faults.corruption) {
            let at = (self.roll() % packet.len() as u64) as usize;
            if self.happens(50) {
                packet.truncate(at);
            } else {
                packet[at] ^= 1 << (self.roll() % 8);
            }
        }
        self.sent += 1;
        self.packets.insert((self.now + delay, self.sent), (to, packet));
    }

    /// Takes the packets that the ends send now.
    fn collect(&mut self) {
        for from in 0..2 {
            if self.is_blocked[from] {
                continue;
            }
            // A task with an alarm for the next timer sleeps then, and would send the packet too late.
            let alarm = self.ends[from].next_timeout().unwrap_or(Duration::MAX);
            let sleeps = self.now < alarm && !self.ends[from].needs_sender(self.now, alarm);
            while let Some(packet) = self.ends[from].poll_packet(self.now, |len| Buf::new(len, 0)) {
                assert!(!sleeps, "a packet is due that needs no sender");
                let is_too_large = packet.len() > self.largest;
                if self.happens(self.faults.loss) || self.loses_message(&packet) || is_too_large {
                    continue;
                }
                self.put(1 - from, &packet);
                if self.happens(self.faults.duplication) {
                    self.put(1 - from, &packet);
                }
            }
        }
    }

    /// Returns true for the first packet that carries the message to lose.
    fn loses_message(&mut self, packet: &[u8]) -> bool {
        let Some(lost) = self.lost_message else { return false };
        let messages = decode(packet, self.check).and_then(|header| header.messages);
        let is_lost =
            messages.is_some_and(|messages| messages.iter(packet).any(|message| message.number == lost));
        if is_lost {
            self.lost_message = None;
        }
        is_lost
    }

    /// Returns the earliest timer of both ends.
    fn next_timeout(&self) -> Option<Duration> {
        let next = |(end, is_blocked): (&Machine, bool)| {
            if is_blocked { end.next_timeout_while_blocked() } else { end.next_timeout() }
        };
        self.ends.iter().zip(self.is_blocked).filter_map(next).min()
    }

    /// Advances to the next event before `until`, if there is one.
    pub(super) fn step(&mut self, until: Duration) -> bool {
        self.collect();
        let arrival = self.packets.keys().next().map(|(at, _)| *at);
        let next = self.next_timeout().into_iter().chain(arrival).min();
        let Some(next) = next.filter(|next| *next <= until) else { return false };
        self.now = self.now.max(next);
        while let Some(entry) = self.packets.first_entry()
            && entry.key().0 <= self.now
        {
            let (to, packet) = entry.remove();
            self.ends[to].handle_packet(packet, self.now);
        }
        let now = self.now;
        self.ends.iter_mut().for_each(|end| end.on_timeout(now));
        true
    }

    pub(super) fn run_for(&mut self, time: Duration) {
        let until = self.now + time;
        while self.step(until) {}
        self.now = until;
    }

    pub(super) fn run_until(&mut self, mut is_done: impl FnMut(&mut [Machine; 2]) -> bool) {
        while !is_done(&mut self.ends) {
            // Keep-alives never end.
            assert!(self.now < Duration::from_secs(3600), "an hour passed: {:#?}", self.ends);
            assert!(self.step(self.now + Duration::from_secs(600)), "nothing more happens: {:#?}", self.ends);
        }
    }
}
