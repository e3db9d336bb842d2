//! Emulated links: rates, buffers, chance and marks.

use crate::wire::{CLIENT, SERVER, arrived, connected, message, run, send};
use bertha_core::Connection;
use bertha_datapath_sim::{Cause, Emulator, Fate, Path, Rate};
use proptest::prelude::*;
use std::time::Duration;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn path(rate: u64) -> Path {
    Path::new(Rate::fixed(rate), ms(10))
}

/// A packet on its way through an emulator.
#[derive(Debug, Clone, Copy)]
struct Packet {
    /// Time after the previous packet, in microseconds.
    pause: u64,
    len: u64,
}

fn packets() -> impl Strategy<Value = Vec<Packet>> {
    let packet = (0..5_000_u64, 1..3_000_u64).prop_map(|(pause, len)| Packet { pause, len });
    prop::collection::vec(packet, 1..400)
}

fn rates() -> impl Strategy<Value = Rate> {
    let trace = (1..50_u64, prop::collection::vec(0..3_000_000_u64, 1..20));
    let trace = trace.prop_filter_map("a rate", |(slot, rates)| Rate::trace(ms(slot), rates).ok());
    prop_oneof![
        (10_000..3_000_000_u64).prop_map(Rate::fixed),
        trace,
        any::<u64>().prop_map(|seed| Rate::cellular(500_000, seed))
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_link_sends_more_than_its_rate_or_keeps_more_than_its_buffer(
        rate in rates(), buffer in 0..100_000_u64, loss in prop_oneof![Just(0.0), 0.0..1.0], seed: u64, packets in packets()
    ) {
        let path = Path { buffer, loss, ..Path::new(rate.clone(), ms(10)) };
        let mut emulator = Emulator::new(path, seed);
        let (mut now, mut newest, mut sent) = (Duration::ZERO, Duration::ZERO, 0);
        for packet in packets {
            now += Duration::from_micros(packet.pause);
            let waiting = emulator.queued_bytes(now);
            let fate = emulator.admit(now, packet.len, true);
            let is_full = waiting > 0 && waiting + packet.len > buffer;
            // A drop is always counted under its cause, and a counted cause always is a drop.
            prop_assert_eq!(fate == Fate::Dropped(Cause::BufferFull), is_full);
            prop_assert!(loss > 0.0 || fate != Fate::Dropped(Cause::Chance));
            // A packet that is larger than the whole buffer may be alone in it.
            prop_assert!(emulator.queued_bytes(now) <= buffer.max(packet.len).max(waiting));
            let Fate::Delivered { at, is_marked } = fate else { continue };
            prop_assert!(!is_marked);
            sent += packet.len;
            prop_assert!(at >= newest && at >= now + ms(10), "{at:?} overtakes {newest:?}");
            prop_assert!(sent <= rate.bytes_until(at - ms(10)) + 1, "{sent} bytes until {at:?}");
            newest = at;
        }
    }

    #[test]
    fn the_same_seed_gives_the_same(seed: u64, packets in packets()) {
        let fates = || {
            let mut emulator = Emulator::new(Path { loss: 0.3, ..path(1_000_000) }, seed);
            let mut now = Duration::ZERO;
            let admit = |packet: &Packet| {
                now += Duration::from_micros(packet.pause);
                emulator.admit(now, packet.len, false)
            };
            packets.iter().map(admit).collect::<Vec<_>>()
        };
        prop_assert_eq!(fates(), fates());
    }
}

#[test]
fn a_buffer_is_a_number_of_bandwidth_delay_products() {
    // A single product is 20,000 bytes.
    for (products, fits) in [(1.0, 20), (2.0, 40), (0.5, 10)] {
        let mut emulator = Emulator::new(path(1_000_000).buffered(products), 1);
        let admitted =
            (0..100).filter(|_| matches!(emulator.admit(ms(0), 1_000, false), Fate::Delivered { .. }));
        assert_eq!(admitted.count(), fits);
        assert_eq!(emulator.queueing_delay(ms(0)), ms(fits as u64));
        assert_eq!(emulator.queued_bytes(ms(4)), (fits as u64 - 4) * 1_000);
    }
}

#[test]
fn marks_begin_above_the_threshold_and_spare_those_who_do_not_understand_them() {
    let mut emulator = Emulator::new(Path { marks_above: Some(3_000), ..path(1_000_000) }, 1);
    let marked: Vec<bool> = (0..8)
        .map(|number| {
            let fate = emulator.admit(ms(0), 1_000, number != 6);
            matches!(fate, Fate::Delivered { is_marked: true, .. })
        })
        .collect();
    assert_eq!(marked, [false, false, false, false, true, true, false, true]);
}

#[test]
fn chance_takes_its_share() {
    let mut emulator = Emulator::new(Path { loss: 0.02, ..path(1_000_000) }, 1);
    let lost = (0..10_000)
        .filter(|at| emulator.admit(ms(*at), 1_000, false) == Fate::Dropped(Cause::Chance))
        .count();
    assert!((150..250).contains(&lost), "{lost} of 10,000 at a probability of 0.02");
}

#[test]
fn directions_of_a_network_share_an_emulator() {
    run(1, async |network| {
        let (client, accepted, _listener) = connected(&network, |host| host).await;
        let emulator = Emulator::new(Path { buffer: 40, ..path(1_000) }, 1);
        network.emulate([(CLIENT, SERVER), (SERVER, CLIENT)], emulator);
        // Messages have eight bytes, and five of them wait.
        send(&client, 0..9).await.unwrap();
        assert_eq!(network.queueing_delay(SERVER, CLIENT), ms(40));
        accepted.send(message(9)).await.unwrap();
        assert_eq!(network.counters().queue_full, 5);
        network.runtime().sleep(ms(200)).await;
        assert_eq!(arrived(&accepted), [0, 1, 2, 3, 4]);
    });
}
