//! The sums of the records, and the last measures, against the statistics.

use crate::qlog::run::{Pair, Records, bad, simulate};
use bertha_chunnels::Reliable;
use bertha_chunnels::congestion::{Bbr, Cubic, FixedWindow, NewReno};
use bertha_core::{Connection, Wrap};
use bertha_datapath_sim::{Datagram, Verdict};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

fn sum(events: &[Value], of: impl Fn(&Value) -> &Value) -> u64 {
    events.iter().filter_map(|event| of(event).as_u64()).sum()
}

/// Returns the last value of each measure.
fn measures(records: &Records) -> BTreeMap<String, Value> {
    let events = records.named("quic:recovery_metrics_updated");
    events.iter().flat_map(|event| event["data"].as_object().unwrap().clone()).collect()
}

/// Checks the records of an end against its statistics.
fn check(pair: &Pair, end: usize) {
    let (records, counted) = (&pair.records[end], pair.statistics(end));
    let sent = records.named("quic:packet_sent");
    let lost = records.named("quic:packet_lost");
    assert_eq!(sent.len() as u64, counted.packets_sent);
    assert_eq!(lost.len() as u64, counted.packets_lost);
    assert_eq!(records.named("quic:packet_received").len() as u64, counted.packets_received);
    assert_eq!(records.named("quic:packet_dropped").len() as u64, counted.damaged);
    assert_eq!(records.named("quic:timer_updated").len() as u64, counted.timeouts);
    assert_eq!(sum(&sent, |event| &event["repeated_messages"]), counted.messages_repeated);
    // Each lost packet was sent, and is lost once.
    let number = |event: &Value| event["data"]["header"]["packet_number"].as_u64();
    let numbers: BTreeSet<_> = sent.iter().filter_map(number).collect();
    let lost: Vec<_> = lost.iter().filter_map(number).collect();
    assert_eq!(lost.len(), lost.iter().collect::<BTreeSet<_>>().len());
    assert!(lost.iter().all(|number| numbers.contains(number)));
    let known = measures(records);
    assert_eq!(known["congestion_window"], counted.window);
    // A flow that is not paced has no rate.
    let rate = (counted.rate < u64::MAX).then(|| counted.rate * 8);
    assert_eq!(known.get("pacing_rate").and_then(Value::as_u64), rate);
    let ms = |time: Duration| time.as_micros() as f64 / 1e3;
    assert_eq!(known["smoothed_rtt"], ms(counted.rtt));
    if known.contains_key("min_rtt") {
        assert_eq!(known["min_rtt"], ms(counted.min_rtt));
    }
}

#[test]
fn the_sums_of_a_lossy_transfer_are_those_of_the_statistics() {
    for (seed, reliable) in [
        Reliable::new().with(Bbr),
        Reliable::new().with(Cubic),
        Reliable::new().with(NewReno),
        Reliable::new().with(FixedWindow(30_000)),
    ]
    .iter()
    .enumerate()
    {
        simulate(seed as u64, bad(), &reliable.clone().packet(1_200), async |pair| {
            // The bytes that the client hands to the network from here on. No packet is large enough to leave in pieces.
            let bytes = Arc::new(AtomicU64::new(0));
            let (count, before) = (bytes.clone(), pair.records[0].named("quic:packet_sent").len());
            pair.network.tap(move |datagram: &mut Datagram| {
                if datagram.from == ([10, 0, 0, 1], datagram.from.port()).into() {
                    count.fetch_add(datagram.payload.len() as u64, Relaxed);
                }
                Verdict::Pass
            });
            pair.transfer(2_000, 1_100).await;
            pair.transfer(2_000, 20).await;
            let counted = pair.statistics(0);
            assert!(
                counted.packets_lost > 50 && counted.messages_repeated > 50 && counted.damaged > 0,
                "{counted:?}"
            );
            (0..2).for_each(|end| check(pair, end));
            let sent = &pair.records[0].named("quic:packet_sent")[before..];
            assert_eq!(sum(sent, |event| &event["data"]["raw"]["length"]), bytes.load(Relaxed));
            // A packet with a message has one, unless it says otherwise.
            let messages =
                |event: &Value| event.get("first_message").map(|_| event["messages"].as_u64().unwrap_or(1));
            let messages: u64 = pair.records[0].named("quic:packet_sent").iter().filter_map(messages).sum();
            assert_eq!(messages, 4_001 + counted.messages_repeated);
            let in_flight = measures(&pair.records[0])["bytes_in_flight"].as_u64();
            assert_eq!(in_flight, Some(counted.bytes_in_flight));
        });
    }
}

#[test]
fn a_run_of_equal_seed_gives_equal_records() {
    let run = || {
        simulate(7, bad(), &Reliable::new(), async |pair| {
            pair.transfer(300, 1_000).await;
            pair.ends[0].close().await.unwrap();
            pair.records[0].all()
        })
    };
    let records = run();
    assert!(records.len() > 600);
    assert_eq!(records, run());
}

#[test]
fn the_end_has_its_reason_and_its_time() {
    simulate(1, bad(), &Reliable::new(), async |pair| {
        pair.sleep(Duration::from_millis(500)).await;
        let before = pair.records[0].all().last().unwrap()["time"].as_f64().unwrap();
        pair.ends[0].close().await.unwrap();
        let closed = pair.records[0].named("quic:connection_closed");
        assert_eq!(closed.len(), 1);
        assert_eq!(closed[0]["data"]["trigger"], "application");
        assert!(closed[0]["time"].as_f64().unwrap() > before);
    });
}

/// The end of this connection has no packet and no timer.
#[test]
fn a_connection_that_is_dropped_has_the_time_of_its_end() {
    let mut sim = bertha_datapath_sim::Sim::new(1);
    let runtime = sim.runtime();
    sim.run(async {
        let records = Records::default();
        let (here, _there) = bertha_datapath_sim::pair(runtime.clone());
        let here = Reliable::new().qlog(records.qlog()).wrap(here).await.unwrap();
        runtime.sleep(Duration::from_millis(3_137)).await;
        drop(here);
        let closed = records.named("quic:connection_closed");
        assert_eq!((closed.len(), &closed[0]["time"]), (1, &Value::from(3_137.0)));
    });
}
