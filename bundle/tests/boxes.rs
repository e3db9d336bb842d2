//! The two boxes around a path that delays, loses and reorders, in steps of a millisecond.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use bertha_bundle::{Bundle, Header, Measurement, Receivebox, ReceiveboxStatistics, Scheduling, Sendbox};
use std::collections::BTreeMap;
use std::time::Duration;

const KEY: u64 = 7;
const PACKET: u32 = 1_250;

/// Packets in a millisecond: 80 Mbit/s.
const PER_MS: u64 = 8;
const RATE: f64 = PACKET as f64 * PER_MS as f64 * 1e3;

/// Time of each direction, in milliseconds.
const DELAY: u64 = 20;

/// Both boxes, and what is on its way to them by the millisecond of its arrival.
struct World {
    ms: u64,
    next: u64,
    send: Sendbox<u64>,
    receive: Receivebox,
    packets: BTreeMap<u64, Vec<u64>>,
    acknowledgements: BTreeMap<u64, Vec<Vec<u8>>>,
    resizes: BTreeMap<u64, Vec<Vec<u8>>>,
    measured: Vec<Measurement>,
}

fn header(number: u64) -> Header {
    Header {
        len: PACKET,
        source: ([10, 0, 0, 1], 1).into(),
        destination: ([10, 1, 0, 1], 2).into(),
        protocol: 17,
        dscp: 0,
        identity: Some(number as u16),
    }
}

fn sendbox(key: u64) -> Sendbox<u64> {
    Sendbox::new(Bundle { scheduling: Scheduling::Fifo, buffer: 1 << 20, key })
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

impl World {
    fn new() -> Self {
        Self {
            ms: 0,
            next: 0,
            send: sendbox(KEY),
            receive: Receivebox::new(KEY, 1),
            packets: BTreeMap::new(),
            acknowledgements: BTreeMap::new(),
            resizes: BTreeMap::new(),
            measured: Vec::new(),
        }
    }

    /// Runs for so many milliseconds. `delay` returns the time that a packet takes, and `None` if it gets lost;
    /// `keeps` returns true for each message of a box that arrives.
    fn run(&mut self, time: u64, delay: impl Fn(u64) -> Option<u64>, mut keeps: impl FnMut() -> bool) {
        for _ in 0..time {
            self.ms += 1;
            let now = ms(self.ms);
            for _ in 0..PER_MS {
                self.send.push(&header(self.next), self.next);
                self.next += 1;
            }
            while let Some(packet) = self.send.pop(now) {
                if let Some(delay) = delay(packet) {
                    self.packets.entry(self.ms + delay).or_default().push(packet);
                }
            }
            for message in self.resizes.remove(&self.ms).unwrap_or_default() {
                self.receive.on_message(&message).unwrap();
            }
            for packet in self.packets.remove(&self.ms).unwrap_or_default() {
                let message = self.receive.on_packet(now, &header(packet)).filter(|_| keeps());
                if let Some(message) = message {
                    self.acknowledgements.entry(self.ms + DELAY).or_default().push(message.to_vec());
                }
            }
            for message in self.acknowledgements.remove(&self.ms).unwrap_or_default() {
                self.measured.extend(self.send.on_message(now, &message).unwrap());
                if let Some(message) = self.send.take_message(now).filter(|_| keeps()) {
                    self.resizes.entry(self.ms + DELAY).or_default().push(message.as_ref().to_vec());
                }
            }
        }
    }
}

/// Returns true for three calls of four, in an order that repeats only after long.
fn three_of_four() -> impl FnMut() -> bool {
    let mut state = 1_u32;
    move || {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        state >> 30 != 0
    }
}

#[test]
fn four_epochs_make_a_round_trip_and_tell_its_time_and_rates() {
    let mut world = World::new();
    world.run(2_000, |_| Some(DELAY), || true);
    // A quarter of the 320 packets of a round trip is 80.
    assert_eq!((world.send.statistics().epoch, world.receive.statistics().epoch), (64, 64));
    let late: Vec<_> = world.measured.iter().filter(|it| it.at > ms(1_000)).collect();
    // 8,000 packets, of which each 64th is a boundary.
    assert!((85..165).contains(&late.len()), "{}", late.len());
    for measurement in late {
        assert_eq!(measurement.round_trip, ms(2 * DELAY));
        for rate in [measurement.sending, measurement.receiving] {
            // The sendbox sees milliseconds alone, with all of their packets.
            assert!((0.9..1.1).contains(&(rate / RATE)), "{measurement:?}");
        }
        assert_eq!(measurement.lost, 0);
    }
    let seen = world.send.statistics();
    assert!(seen.resizes <= 3 && seen.implausible == 0, "{seen:?}");
}

#[test]
fn lost_boundaries_and_messages_make_epochs_longer_and_measurements_no_worse() {
    let mut world = World::new();
    // A tenth of all packets gets lost, and a quarter of all messages.
    world.run(3_000, |packet| (packet % 10 != 3).then_some(DELAY), three_of_four());
    assert_eq!(world.send.statistics().epoch, world.receive.statistics().epoch);
    let late: Vec<_> = world.measured.iter().filter(|it| it.at > ms(1_000)).collect();
    assert!(late.len() > 80, "{}", late.len());
    let mean = |of: fn(&Measurement) -> f64| {
        late.iter().map(|measurement| of(measurement)).sum::<f64>() / late.len() as f64
    };
    assert!((0.97..1.03).contains(&(mean(|it| it.sending) / RATE)));
    assert!((0.87..0.93).contains(&(mean(|it| it.receiving) / RATE)));
    assert!(late.iter().all(|measurement| measurement.round_trip == ms(2 * DELAY)));
    let lost: u64 = world.measured.iter().map(|measurement| measurement.lost).sum();
    let sent = world.send.statistics().bytes;
    assert!((0.09..0.11).contains(&(lost as f64 / sent as f64)), "{lost} of {sent}");
}

#[test]
fn reordered_packets_are_not_lost_and_rates_stay() {
    let mut world = World::new();
    world.run(3_000, |packet| Some(DELAY + u64::from(packet.is_multiple_of(7)) * 3), || true);
    let late: Vec<_> = world.measured.iter().filter(|it| it.at > ms(1_000)).collect();
    assert!(late.len() > 100, "{}", late.len());
    for measurement in late {
        assert!((0.8..1.2).contains(&(measurement.receiving / RATE)), "{measurement:?}");
        assert!((2 * DELAY..=2 * DELAY + 3).contains(&(measurement.round_trip.as_millis() as u64)));
    }
    assert!(world.send.statistics().lost <= 10 * u64::from(PACKET), "{:?}", world.send.statistics());
}

#[test]
fn without_acknowledgements_all_packets_pass_until_the_next_one() {
    let mut world = World::new();
    world.run(500, |_| Some(DELAY), || true);
    world.send.set_rate(ms(500), Some((RATE / 2.0) as u64));
    world.run(200, |_| Some(DELAY), || true);
    let waiting = world.send.statistics().waiting;
    assert!((0.9e6..1.1e6).contains(&(waiting as f64)), "{waiting}");
    world.run(1_100, |_| Some(DELAY), || false);
    assert_eq!(world.send.statistics().waiting, 0);
    world.run(200, |_| Some(DELAY), || true);
    assert!(world.send.statistics().waiting > 500_000, "{:?}", world.send.statistics());
}

#[test]
fn a_receivebox_that_starts_again_is_recognised() {
    let mut world = World::new();
    world.run(1_000, |_| Some(DELAY), || true);
    world.receive = Receivebox::new(KEY, 2);
    let before = world.measured.len();
    world.run(1_000, |_| Some(DELAY), || true);
    assert_eq!(world.receive.statistics().epoch, 64, "it learns the size of epochs again");
    let after = &world.measured[before..];
    assert!(after.len() > 60, "{}", after.len());
    assert!(after.iter().all(|it| it.receiving < 1.1 * RATE && it.lost == 0), "{after:?}");
}

/// Packets pass without a sendbox for five seconds, as those of an attacker might.
#[test]
fn a_receivebox_without_a_sendbox_says_little_and_a_late_sendbox_hears_it() {
    let mut world = World::new();
    world.run(5_000, |_| Some(DELAY), || false);
    let ReceiveboxStatistics { packets, acknowledgements, .. } = world.receive.statistics();
    assert!(packets > 39_000 && acknowledgements < 3_000, "{acknowledgements} of {packets}");
    world.send = sendbox(KEY);
    world.run(1_000, |_| Some(DELAY), || true);
    assert_eq!((world.send.statistics().epoch, world.receive.statistics().epoch), (64, 64));
}

#[test]
fn nothing_that_a_stranger_sends_changes_the_boxes() {
    let mut world = World::new();
    world.run(500, |_| Some(DELAY), || true);
    let now = ms(500);
    let mut stranger = Receivebox::new(KEY + 1, 9);
    let forged: Vec<_> =
        (0..world.next).filter_map(|packet| stranger.on_packet(now, &header(packet))).collect();
    assert!(forged.len() > 300);
    let before = world.send.statistics();
    assert!(forged.iter().all(|message| world.send.on_message(now, message).unwrap().is_none()));
    assert!([&b""[..], &[1; 24], &[0; 12]].iter().all(|bytes| world.send.on_message(now, bytes).is_err()));
    let after = world.send.statistics();
    assert_eq!(after.unmatched - before.unmatched, forged.len() as u64);
    assert_eq!((after.malformed - before.malformed, after.measurements), (3, before.measurements));

    let mut other = World::new();
    other.send = sendbox(KEY + 1);
    other.receive = Receivebox::new(KEY + 1, 1);
    // The message about the size of epochs is on its way.
    other.run(50, |_| Some(DELAY), || true);
    let before = world.receive.statistics();
    let messages: Vec<_> = other.resizes.into_values().flatten().collect();
    assert!(!messages.is_empty());
    assert!(messages.iter().all(|message| world.receive.on_message(message).is_err()));
    assert!(world.receive.on_message(&[2; 12]).is_err());
    let after = world.receive.statistics();
    assert_eq!(after.malformed - before.malformed, messages.len() as u64 + 1);
    assert_eq!((after.epoch, after.resizes), (before.epoch, before.resizes));
}
