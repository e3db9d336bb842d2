use super::{Metrics, prometheus};
use bertha_core::{Buf, Connection, Describe, Node, Wrap, make_stack};
use bertha_datapath_sim::pair_of;
use bertha_runtime::tokio::TokioRuntime;
use std::time::Duration;

fn buf(len: usize) -> Buf {
    Buf::new(len, 0).unwrap()
}

#[tokio::test]
async fn both_directions_are_counted_at_each_place() {
    let (upper, lower) = (Metrics::new("upper"), Metrics::new("lower"));
    let (here, there) = pair_of::<_, Buf>(TokioRuntime);
    let here = make_stack!(upper.clone(), lower.clone()).wrap(here).await.unwrap();
    here.send(buf(10)).await.unwrap();
    here.send_batch([buf(1), buf(2), buf(3)].into_iter()).await.unwrap();
    there.send_batch([buf(100), buf(200)].into_iter()).await.unwrap();
    here.recv().await.unwrap();
    let mut burst = Vec::new();
    assert_eq!(here.recv_batch(&mut burst, 5).await.unwrap(), 1);
    drop(there);
    assert!(here.recv().await.is_err());
    assert!(here.send(buf(1)).await.is_err());
    for place in [&upper, &lower] {
        let counted = place.snapshot();
        assert_eq!((counted.sent.messages, counted.sent.bytes, counted.sent.errors), (4, 16, 0));
        let received = counted.received;
        assert_eq!((received.messages, received.bytes, received.errors), (2, 300, 0));
        assert_eq!((counted.latency.count(), counted.connections), (2, 1));
    }
    drop(here);
    assert_eq!(upper.snapshot().connections, 0);
}

#[tokio::test]
async fn what_fails_is_counted_and_no_message() {
    let metrics = Metrics::new("errors");
    let (here, _there) = pair_of::<_, Buf>(TokioRuntime);
    let here = make_stack!(metrics.clone(), crate::Fragment::new().limit(100)).wrap(here).await.unwrap();
    assert!(here.send(buf(5_000)).await.is_err());
    assert!(here.send_batch([buf(7), buf(5_000), buf(8)].into_iter()).await.is_err());
    let sent = metrics.snapshot().sent;
    assert_eq!((sent.errors, metrics.snapshot().latency.count()), (2, 0));
    // These are the messages of the burst that were taken before it failed.
    assert_eq!((sent.messages, sent.bytes), (2, 5_007));
}

#[tokio::test]
async fn messages_of_any_type_are_counted() {
    let metrics = Metrics::new("typed");
    let (here, there) = pair_of::<_, String>(TokioRuntime);
    let here = metrics.wrap(here).await.unwrap();
    here.send("hello".into()).await.unwrap();
    assert_eq!(there.recv().await.unwrap(), "hello");
    let sent = metrics.snapshot().sent;
    assert_eq!((sent.messages, sent.bytes), (1, 0));
}

#[test]
fn quantiles_are_close_from_above() {
    let metrics = Metrics::new("times");
    let counters = super::counters::Counters::default();
    assert_eq!(counters.snapshot().latency.quantile(0.5), None);
    for micros in 1..=1_000 {
        counters.latency.record(Duration::from_micros(micros));
    }
    let latency = counters.snapshot().latency;
    for (part, exact) in [(0.0, 1), (0.5, 500), (0.9, 900), (0.99, 990), (1.0, 1_000)] {
        let (found, exact) = (latency.quantile(part).unwrap(), Duration::from_micros(exact));
        assert!(
            found >= exact && found <= (exact * 5 / 4).max(Duration::from_nanos(1_024)),
            "{part}: {found:?}"
        );
    }
    assert_eq!(latency.mean(), Some(Duration::from_nanos(500_500)));
    counters.latency.record(Duration::from_secs(60));
    assert_eq!(counters.snapshot().latency.quantile(1.0), None);
    metrics.trace();
}

/// The rules of the format: one header per name, cumulative buckets, and a last bucket that equals the count.
#[tokio::test]
async fn the_text_is_what_prometheus_reads() {
    let (one, other) = (Metrics::new("one"), Metrics::new("a \"quoted\"\\\n name"));
    let (here, _there) = pair_of::<_, Buf>(TokioRuntime);
    let here = one.wrap(here).await.unwrap();
    for _ in 0..3 {
        here.send(buf(5)).await.unwrap();
    }
    let text = prometheus([&one, &other]);
    for line in [
        "# TYPE bertha_messages_total counter",
        "bertha_messages_total{position=\"one\",direction=\"sent\"} 3",
        "bertha_bytes_total{position=\"one\",direction=\"sent\"} 15",
        "bertha_errors_total{position=\"a \\\"quoted\\\"\\\\\\n name\",direction=\"received\"} 0",
        "bertha_position_connections{position=\"one\"} 1",
        "# TYPE bertha_send_seconds histogram",
        "bertha_send_seconds_bucket{position=\"one\",le=\"+Inf\"} 3",
        "bertha_send_seconds_count{position=\"one\"} 3",
    ] {
        assert!(text.lines().any(|it| it == line), "no line {line:?} in\n{text}");
    }
    let buckets: Vec<(f64, u64)> = text
        .lines()
        .filter_map(|line| line.strip_prefix("bertha_send_seconds_bucket{position=\"one\",le=\""))
        .filter(|rest| !rest.starts_with('+'))
        .map(|rest| {
            let (bound, count) = rest.split_once("\"} ").unwrap();
            (bound.parse().unwrap(), count.parse().unwrap())
        })
        .collect();
    assert_eq!(buckets.len(), 26);
    assert!(buckets.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 <= two[1].1));
    assert_eq!(text.matches("# TYPE").count(), 5);
}

#[test]
fn the_other_end_need_not_have_it() {
    let [Node::Layer(layer)] = &Metrics::new("here").nodes()[..] else { panic!("one layer") };
    assert!(layer.is_one_sided());
}
