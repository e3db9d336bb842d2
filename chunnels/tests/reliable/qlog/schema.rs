//! Each record by the schema.

use crate::qlog::cddl::Schema;
use crate::qlog::run::{Records, bad, message, simulate};
use bertha_chunnels::Reliable;
use bertha_chunnels::congestion::{Bbr, Cubic, NewReno};
use bertha_core::Connection;
use bertha_datapath_sim::{Link, Verdict};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// The events and the rules of their data.
const EVENTS: [(&str, &str); 15] = [
    ("loglevel:warning", "LogLevelWarning"),
    ("quic:congestion_state_updated", "QUICCongestionStateUpdated"),
    ("quic:connection_closed", "QUICConnectionClosed"),
    ("quic:connection_data_blocked_updated", "QUICConnectionDataBlockedUpdated"),
    ("quic:connection_started", "QUICConnectionStarted"),
    ("quic:connection_state_updated", "QUICConnectionStateUpdated"),
    ("quic:mtu_updated", "QUICMTUUpdated"),
    ("quic:packet_dropped", "QUICPacketDropped"),
    ("quic:packet_lost", "QUICPacketLost"),
    ("quic:packet_received", "QUICPacketReceived"),
    ("quic:packet_sent", "QUICPacketSent"),
    ("quic:parameters_set", "QUICParametersSet"),
    ("quic:recovery_metrics_updated", "QUICRecoveryMetricsUpdated"),
    ("quic:recovery_parameters_set", "QUICRecoveryParametersSet"),
    ("quic:timer_updated", "QUICTimerUpdated"),
];

/// Checks the records of a connection. Returns the names of its events.
pub(crate) fn check(records: &[Value]) -> BTreeSet<&'static str> {
    let schema = Schema::parse(include_str!("schema.cddl"));
    let (header, events) = records.split_first().expect("a header");
    schema.check(header, "QlogFileSeq").unwrap();
    let mut names = BTreeSet::new();
    let mut before = 0.0;
    for event in events {
        schema.check(event, "Event").unwrap();
        let (name, rule) = EVENTS.iter().find(|(name, _)| event["name"] == *name).expect("a known event");
        schema.check(&event["data"], rule).unwrap_or_else(|what| panic!("{name}: {what}"));
        let time = event["time"].as_f64().unwrap();
        assert!(time >= before, "{event} is earlier than {before}");
        before = time;
        names.insert(*name);
    }
    names
}

fn check_both(records: &[Records; 2], into: &mut BTreeSet<&'static str>) {
    records.iter().for_each(|records| into.extend(check(&records.all())));
}

#[test]
fn every_event_occurs_and_follows_the_schema() {
    let mut seen = BTreeSet::new();
    // Faults of all kinds, and a close.
    for (seed, reliable) in
        [Reliable::new().with(Bbr), Reliable::new().with(Cubic), Reliable::new().with(NewReno)]
            .iter()
            .enumerate()
    {
        let records = simulate(seed as u64, bad(), reliable, async |pair| {
            pair.transfer(500, 1_200).await;
            pair.transfer(500, 10).await;
            pair.ends[0].close().await.unwrap();
            pair.ends[1].recv().await.unwrap_err();
            pair.ends[1].close().await.unwrap();
            pair.records.clone()
        });
        check_both(&records, &mut seen);
    }
    // An application that does not receive, and a peer that is silent for too long.
    let records = simulate(
        1,
        Link { delay: Duration::from_millis(5), ..Link::default() },
        &Reliable::new(),
        async |pair| {
            for _ in 0..100 {
                pair.ends[0].send(message(8)).await.unwrap();
            }
            pair.sleep(Duration::from_secs(1)).await;
            for _ in 0..100 {
                pair.ends[1].recv().await.unwrap();
            }
            // Half a second of losses, which the path survives.
            pair.network.set_link(Link { loss: 1.0, ..Link::default() });
            for _ in 0..50 {
                pair.ends[0].send(message(1_000)).await.unwrap();
                pair.sleep(Duration::from_millis(40)).await;
            }
            pair.network.set_link(Link { delay: Duration::from_millis(5), ..Link::default() });
            pair.sleep(Duration::from_secs(20)).await;
            pair.network.set_link(Link { loss: 1.0, ..Link::default() });
            pair.sleep(Duration::from_secs(100)).await;
            pair.records.clone()
        },
    );
    check_both(&records, &mut seen);
    // A path that loses all large packets, and is repaired.
    let records = simulate(
        1,
        Link { delay: Duration::from_millis(5), ..Link::default() },
        &Reliable::new(),
        async |pair| {
            let limit = Arc::new(AtomicUsize::new(1_250));
            let largest = limit.clone();
            pair.network.tap(move |datagram| {
                if datagram.payload.len() <= largest.load(Relaxed) { Verdict::Pass } else { Verdict::Drop }
            });
            pair.transfer(50, 1_320).await;
            limit.store(9_000, Relaxed);
            // Large packets are tried again after ten minutes.
            pair.sleep(Duration::from_secs(700)).await;
            pair.transfer(50, 1_320).await;
            pair.records.clone()
        },
    );
    check_both(&records, &mut seen);
    let all = EVENTS.iter().map(|(name, _)| *name).filter(|name| *name != "loglevel:warning");
    assert_eq!(seen, all.collect());
}
