//! The order of a topic in two places, chosen while it is in use (thesis, Listing 3.5), over the service in memory.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests panic to fail")]

use bertha_chunnels::{OrderedByKey, Serialize, ServiceOrdered};
use bertha_core::{Connection, ErrorKind, NumParticipantsAtMost, Wrap, make_stack, select};
use bertha_queue::{MemoryQueue, Ordering, Topic};
use bertha_rendezvous::{MemoryStore, Rendezvous};
use bertha_runtime_tokio::TokioRuntime;
use serde::{Deserialize, Serialize as Encode};
use std::time::Duration;
use tokio::time::timeout;

#[derive(Debug, Clone, PartialEq, Encode, Deserialize)]
struct Event {
    account: u8,
    number: u32,
}

/// The account, which is the first byte of an encoded event.
fn account(event: &[u8]) -> &[u8] {
    event.get(..1).unwrap_or_default()
}

macro_rules! join {
    ($group:expr, $store:expr) => {
        make_stack!(
            Serialize::<Event>::new(),
            select!(OrderedByKey::new(account), ServiceOrdered::new(account); prefer 0 if NumParticipantsAtMost(2))
        )
        .rendezvous($group, $store.clone(), "billing")
    };
}

/// The next event, or none if there is none for some time.
async fn next(connection: &impl Connection<Data = Event>) -> Option<Event> {
    timeout(Duration::from_secs(2), connection.recv()).await.ok().map(|event| event.unwrap())
}

#[tokio::test]
async fn the_second_receiver_brings_the_order_of_the_service() {
    let topic = Topic::new(MemoryQueue::new().ordering(Ordering::ByKey), "orders");
    topic.create().await.unwrap();
    let store = MemoryStore::new(TokioRuntime);
    let publisher = join!(topic.group("billing").publisher(), store).await.unwrap();
    // A receiver that joins makes a round of its own, which takes no reception.
    let first = join!(topic.group("billing").receiver(), store).await.unwrap();
    assert!(publisher.explain().to_string().contains("OrderedByKey"), "{}", publisher.explain());
    let events =
        |range: std::ops::Range<u32>| range.map(|number| Event { account: (number % 3) as u8, number });
    for event in events(0..20) {
        publisher.send(event).await.unwrap();
    }
    let mut got = Vec::new();
    while got.len() < 20 {
        got.push(next(&first).await.expect("one of the first 20"));
    }
    let second = join!(topic.group("billing").receiver(), store).await.unwrap();
    for event in events(20..60) {
        publisher.send(event).await.unwrap();
    }
    assert!(publisher.explain().to_string().contains("ServiceOrdered"), "{}", publisher.explain());
    while got.len() < 60 {
        tokio::select! {
            event = first.recv() => got.push(event.unwrap()),
            event = second.recv() => got.push(event.unwrap()),
        }
    }
    for account in 0..3 {
        let of_account: Vec<u32> =
            got.iter().filter(|event| event.account == account).map(|event| event.number).collect();
        assert!(of_account.windows(2).all(|two| two[1] == two[0] + 3), "account {account}: {of_account:?}");
    }
    assert_eq!(next(&first).await, None);
    for connection in [&first, &second, &publisher] {
        connection.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_service_without_order_by_key_is_refused_with_both_ways_out() {
    let topic = Topic::new(MemoryQueue::new(), "orders");
    topic.create().await.unwrap();
    let refused = ServiceOrdered::new(account).wrap(topic.publisher().await.unwrap()).await;
    let error = refused.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let text = error.to_string();
    assert!(
        text.contains("queue that keeps order by key") && text.contains("OrderedByKey at the single"),
        "{text}"
    );
}
