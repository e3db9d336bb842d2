//! The order of a topic, kept in either of two places, chosen while the topic is in use (thesis, Listing
//! 3.5): by the single receiver, or by the service as soon as a second receiver joins; over the service in
//! memory and over servers.

use bertha_chunnels::{OrderedByKey, Serialize, ServiceOrdered};
use bertha_core::{Connection, ErrorKind, NumParticipantsAtMost, WithReceipt, Wrap, make_stack, select};
use bertha_datapath_kernel::TokioRuntime;
use bertha_negotiation::rendezvous::{MemoryStore, MultiEndpoint, Rendezvous, RendezvousStore};
use bertha_queues::{MemoryQueue, Ordering, Pair, Service, Topic};
use serde::{Deserialize, Serialize as Encode};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// A time that is longer than a change, and longer than the time after which a service delivers a message
/// again: a dropped call may have taken a message.
const TIME_LIMIT: Duration = Duration::from_secs(90);

const ACCOUNTS: u32 = 5;

#[derive(Debug, Clone, PartialEq, Encode, Deserialize)]
struct Event {
    account: u8,
    number: u32,
}

/// Returns the account, which is the first byte of an encoded event.
fn account(event: &[u8]) -> &[u8] {
    event.get(..1).unwrap_or_default()
}

/// Joins the topic of these events by the stack of the listing.
macro_rules! join {
    ($group:expr, $store:expr, $name:expr) => {
        make_stack!(
            Serialize::<Event>::new().with_receipts(),
            select!(OrderedByKey::new(account), ServiceOrdered::new(account); prefer 0 if NumParticipantsAtMost(2))
        )
        .rendezvous($group, $store.clone(), $name)
    };
}

/// The messages of all receivers, in the order in which they got them.
type Got = Arc<Mutex<Vec<Event>>>;

/// Records each event before the service hears that it was received.
async fn receive<C: Connection<Data = WithReceipt<Event>>>(connection: Arc<MultiEndpoint<C>>, got: Got) {
    while let Ok(event) = connection.recv().await {
        got.lock().unwrap().push((*event).clone());
        event.done();
    }
}

/// Receives as [`receive`] does; the work on each tenth event fails once.
async fn receive_and_fail<C: Connection<Data = WithReceipt<Event>>>(
    connection: Arc<MultiEndpoint<C>>,
    got: Got,
    failed: Got,
) {
    while let Ok(event) = connection.recv().await {
        let mut failed = failed.lock().unwrap();
        if event.number % 10 == 7 && !failed.contains(&event) {
            failed.push((*event).clone());
            continue;
        }
        got.lock().unwrap().push(event.done());
    }
}

async fn publish(connection: &impl Connection<Data = WithReceipt<Event>>, numbers: Range<u32>) {
    for number in numbers {
        let account = (number % ACCOUNTS) as u8;
        connection.send(Event { account, number }.into()).await.unwrap();
        sleep(Duration::from_millis(3)).await;
    }
}

async fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(timeout(TIME_LIMIT, wait).await.is_ok(), "{what}");
}

fn uses<C: Connection>(connection: &MultiEndpoint<C>, chunnel: &str) -> bool {
    connection.explain().chunnels().any(|name| name.ends_with(chunnel))
}

/// The order moves to the service as the second receiver joins, while messages flow, and back when it has left.
async fn the_order_moves<S: Service, T: RendezvousStore>(service: S, store: T) {
    let name = format!("orders-{:016x}", rand::random::<u64>());
    let (topic, store) = (Topic::new(service, &*name), Arc::new(store));
    topic.create().await.unwrap();
    let group = topic.group("billing");
    let got = Got::default();
    let publisher = join!(group.clone().publisher(), store, &name).await.unwrap();
    let first = Arc::new(join!(group.clone().receiver(), store, &name).await.unwrap());
    let one = tokio::spawn(receive(first.clone(), got.clone()));
    publish(&publisher, 0..40).await;
    assert!(uses(&publisher, "OrderedByKey"), "{}", publisher.explain());

    let join = async {
        let second = Arc::new(join!(group.receiver(), store, &name).await.unwrap());
        let two = tokio::spawn(receive(second.clone(), got.clone()));
        (second, two)
    };
    let ((), (second, two)) = tokio::join!(publish(&publisher, 40..120), join);
    let ends = [&publisher, &*first, &*second];
    wait_for("the service keeps the order", || ends.iter().all(|end| uses(end, "ServiceOrdered"))).await;
    publish(&publisher, 120..160).await;

    second.close().await.unwrap();
    two.await.unwrap();
    wait_for("the receiver keeps the order again", || uses(&publisher, "OrderedByKey")).await;
    publish(&publisher, 160..200).await;
    wait_for("all 200 have arrived", || got.lock().unwrap().len() >= 200).await;

    let got = got.lock().unwrap().clone();
    for account in 0..ACCOUNTS {
        let numbers: Vec<u32> = got
            .iter()
            .filter(|event| u32::from(event.account) == account)
            .map(|event| event.number)
            .collect();
        // No event is missing, repeated or out of order.
        assert_eq!(
            numbers,
            (account..200).step_by(ACCOUNTS as usize).collect::<Vec<_>>(),
            "account {account}"
        );
    }
    publisher.close().await.unwrap();
    first.close().await.unwrap();
    one.await.unwrap();
    topic.delete().await.unwrap();
}

#[tokio::test]
async fn the_second_receiver_brings_the_order_of_the_service() {
    let service = MemoryQueue::new().ordering(Ordering::ByKey);
    the_order_moves(service, MemoryStore::new(TokioRuntime)).await;
}

/// Work that fails loses no event, although receivers come and go and the order moves meanwhile.
#[tokio::test]
async fn an_event_whose_work_fails_comes_again_to_any_receiver() {
    let topic = Topic::new(MemoryQueue::new().ordering(Ordering::ByKey), "orders");
    topic.create().await.unwrap();
    let (store, name) = (Arc::new(MemoryStore::new(TokioRuntime)), "orders".to_owned());
    let group = topic.group("billing");
    let (got, failed) = (Got::default(), Got::default());
    let publisher = join!(group.clone().publisher(), store, &name).await.unwrap();
    let first = Arc::new(join!(group.clone().receiver(), store, &name).await.unwrap());
    let one = tokio::spawn(receive_and_fail(first.clone(), got.clone(), failed.clone()));
    publish(&publisher, 0..60).await;
    let second = Arc::new(join!(group.receiver(), store, &name).await.unwrap());
    let two = tokio::spawn(receive_and_fail(second.clone(), got.clone(), failed.clone()));
    let ends = [&publisher, &*first, &*second];
    wait_for("the service keeps the order", || ends.iter().all(|end| uses(end, "ServiceOrdered"))).await;
    publish(&publisher, 60..120).await;
    second.close().await.unwrap();
    two.await.unwrap();
    wait_for("the receiver keeps the order again", || uses(&publisher, "OrderedByKey")).await;
    publish(&publisher, 120..150).await;
    wait_for("all 150 have arrived", || got.lock().unwrap().len() >= 150).await;
    let mut numbers: Vec<u32> = got.lock().unwrap().iter().map(|event| event.number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, Vec::from_iter(0..150));
    assert_eq!(failed.lock().unwrap().len(), 15);
    publisher.close().await.unwrap();
    first.close().await.unwrap();
    one.await.unwrap();
}

/// The single receiver reads the topic without order, which is quicker. Two receivers read the other topic.
#[tokio::test]
async fn the_second_receiver_brings_another_topic() {
    let ordered = MemoryQueue::new().ordering(Ordering::ByKey);
    the_order_moves(Pair::new(MemoryQueue::new(), ordered), MemoryStore::new(TokioRuntime)).await;
}

#[cfg(feature = "sqs")]
#[tokio::test]
async fn the_second_receiver_brings_a_fifo_queue() {
    let Some(endpoint) = bertha_tests::service("BERTHA_ELASTICMQ") else { return };
    let sqs = bertha_tests::servers::sqs(&endpoint);
    the_order_moves(Pair::new(sqs.clone(), sqs.fifo()), MemoryStore::new(TokioRuntime)).await;
}

#[cfg(feature = "nats")]
#[tokio::test]
async fn the_second_receiver_brings_the_order_of_nats() {
    let Some(address) = bertha_tests::service("BERTHA_NATS") else { return };
    let service = bertha_queues::nats::Nats::connect(&address).await.unwrap().ordered_by_key(8);
    the_order_moves(service, MemoryStore::new(TokioRuntime)).await;
}

/// The participants agree through one server, and publish to another server.
#[cfg(all(feature = "nats", feature = "redis"))]
#[tokio::test]
async fn they_agree_through_redis_over_nats() {
    let (address, store) = (bertha_tests::service("BERTHA_NATS"), bertha_tests::service("BERTHA_REDIS"));
    let (Some(address), Some(store)) = (address, store) else { return };
    let service = bertha_queues::nats::Nats::connect(&address).await.unwrap().ordered_by_key(8);
    the_order_moves(service, bertha_negotiation::rendezvous::RedisStore::new(&store).unwrap()).await;
}

#[cfg(feature = "etcd")]
#[tokio::test]
async fn they_agree_through_etcd() {
    let Some(store) = bertha_tests::service("BERTHA_ETCD") else { return };
    let service = MemoryQueue::new().ordering(Ordering::ByKey);
    the_order_moves(service, bertha_negotiation::rendezvous::EtcdStore::new(&store).unwrap()).await;
}

#[tokio::test]
async fn a_service_without_order_by_key_is_refused_with_both_ways_out() {
    let topic = Topic::new(MemoryQueue::new(), "orders").acknowledge_by_dropping();
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
