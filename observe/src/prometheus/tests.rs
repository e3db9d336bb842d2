//! The text of a server and its clients.

use super::Collector;
use bertha_chunnels::{Metrics, Reliable};
use bertha_core::{Buf, Connection, ErrorKind, make_stack};
use bertha_datapath_kernel::Udp;
use bertha_negotiation::Negotiate;
use prometheus::{Encoder, Registry, TextEncoder};

fn text(registry: &Registry) -> String {
    let mut text = Vec::new();
    TextEncoder::new().encode(&registry.gather(), &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// Returns the value of a series.
fn value(text: &str, series: &str) -> f64 {
    let line = text.lines().find(|line| line.starts_with(series));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok())
        .unwrap_or_else(|| panic!("{series} in\n{text}"))
}

#[tokio::test]
async fn totals_stay_when_connections_end_and_states_go() {
    let metrics = Metrics::new("messages");
    let registry = Registry::new();
    registry.register(Box::new(Collector::new().with(&metrics))).unwrap();
    let again = registry.register(Box::new(Collector::new())).unwrap_err();
    assert!(matches!(again, prometheus::Error::AlreadyReg), "{again}");

    let stack = make_stack!(metrics.clone(), Reliable::new());
    let mut incoming = stack.clone().listen(Udp::default(), ([127, 0, 0, 1], 0)).await.unwrap();
    let server = incoming.local_addr();
    let (client, served) =
        tokio::join!(stack.connect(Udp::default(), server.clone()).into_future(), incoming.next());
    let (client, served) = (client.unwrap(), served.unwrap());
    client.send(Buf::copy_of(b"hello", 0).unwrap()).await.unwrap();
    assert_eq!(served.recv().await.unwrap().as_ref(), b"hello");

    let open = text(&registry);
    assert_eq!(value(&open, r#"bertha_connections_open{stack="Metrics / Reliable"}"#), 2.0);
    assert_eq!(value(&open, &format!(r#"bertha_listener_accepted_total{{listener="{server}"}}"#)), 1.0);
    assert_eq!(value(&open, r#"bertha_messages_total{position="messages",direction="sent"}"#), 1.0);
    assert_eq!(value(&open, r#"bertha_send_seconds_count{position="messages"}"#), 1.0);
    assert_eq!(value(&open, "bertha_link_usable_connections"), 2.0);
    assert!(value(&open, r#"bertha_reliable_window_bytes{over_connections="least"}"#) > 0.0);
    assert!(value(&open, r#"bertha_reliable_rtt_seconds{over_connections="mean"}"#) < 10.0);
    let sent = value(&open, "bertha_reliable_packets_sent_total");
    assert!(sent >= 1.0);

    client.close().await.unwrap();
    assert_eq!(served.recv().await.unwrap_err().kind(), ErrorKind::Closed);
    drop((client, served));
    let ended = text(&registry);
    assert_eq!(value(&ended, "bertha_connections_ended_total"), 2.0);
    assert!(value(&ended, "bertha_reliable_packets_sent_total") >= sent, "counters never fall");
    assert!(!ended.contains("bertha_connections_open") && !ended.contains("bertha_reliable_window_bytes"));
}
