//! The conformance suite of queues over the service in memory, with each order that it can keep.

use bertha_core::{Connection, Error};
use bertha_queues::{MemoryQueue, Ordering, Pair, QueueSettings, Service, Topic};
use bertha_tests::conformance::queue::{QueueSite, Restarted, Sizes, Throttled, queue};
use std::time::Duration;
use tokio::sync::Mutex;

struct Memory {
    /// The service of usual clients, which all share it.
    usual: MemoryQueue,
    impatient: MemoryQueue,
    orders: Vec<Ordering>,
}

impl Memory {
    fn new(service: MemoryQueue, orders: &[Ordering]) -> Self {
        let impatient =
            service.clone().ordering(orders[0]).redelivery(Duration::from_millis(200)).dead_letters_after(3);
        Self { usual: service, impatient, orders: orders.to_vec() }
    }
}

/// Receives messages in a runtime, and ends the runtime. The service lives in this process, so no process can
/// be killed.
fn kill_a_receiver(service: impl Service, topic: &str, subscription: &str, messages: usize) {
    let topic = Topic::new(service, topic);
    let subscription = subscription.to_owned();
    let receive = async move {
        let receiver = topic.receiver(&subscription).await?;
        let mut held = Vec::new();
        while held.len() < messages {
            held.push(receiver.recv().await?);
        }
        Ok::<_, Error>((held, receiver))
    };
    let process = std::thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let held = runtime.block_on(receive).unwrap();
        drop(runtime);
        // The drop has no effect any more.
        drop(held);
    });
    process.join().unwrap();
}

impl QueueSite for Memory {
    type Service = MemoryQueue;

    fn orders(&self) -> &[Ordering] {
        &self.orders
    }

    async fn service(&self, ordering: Ordering) -> MemoryQueue {
        self.usual.clone().ordering(ordering)
    }

    async fn impatient(&self) -> MemoryQueue {
        self.impatient.clone()
    }

    async fn kill_a_receiver(&self, topic: &str, subscription: &str, messages: usize) {
        kill_a_receiver(self.impatient.clone(), topic, subscription, messages);
    }

    async fn dead_letters(&self, topic: &str) -> Vec<Vec<u8>> {
        self.impatient.dead_letters(topic)
    }

    async fn restart(&self) -> Restarted {
        self.usual.set_away(true);
        tokio::time::sleep(Duration::from_millis(200)).await;
        self.usual.redeliver();
        self.usual.set_away(false);
        Restarted::WithData
    }

    async fn refused(&self) -> Option<Result<MemoryQueue, Error>> {
        let other = MemoryQueue::new();
        other.set_refusing(true);
        Some(Ok(other))
    }

    async fn throttled(&self) -> Option<Throttled<MemoryQueue>> {
        let service = self.usual.clone().ordering(self.orders[0]);
        let faults = service.clone();
        Some(Throttled { service, throttle: Box::new(move |calls| faults.throttle(calls)) })
    }

    fn sizes(&self) -> Sizes {
        let mut sizes = Sizes::default();
        sizes.idle = Duration::from_secs(1);
        sizes
    }

    fn settings(&self) -> QueueSettings {
        let mut settings = QueueSettings::default().acknowledge_by_dropping(true);
        settings.retry_pause = Duration::from_millis(5);
        settings
    }
}

/// Two services as one site: topics with order by key go to the second service.
struct Two(Memory, Memory);

impl QueueSite for Two {
    type Service = Pair<MemoryQueue, MemoryQueue>;

    fn orders(&self) -> &[Ordering] {
        &[Ordering::ByKey]
    }

    async fn service(&self, _: Ordering) -> Self::Service {
        Pair::new(self.0.service(Ordering::None).await, self.1.service(Ordering::ByKey).await)
    }

    async fn impatient(&self) -> Self::Service {
        Pair::new(self.0.impatient().await, self.1.impatient().await)
    }

    async fn kill_a_receiver(&self, topic: &str, subscription: &str, messages: usize) {
        kill_a_receiver(self.impatient().await, topic, subscription, messages);
    }

    async fn dead_letters(&self, topic: &str) -> Vec<Vec<u8>> {
        let mut letters = self.0.dead_letters(topic).await;
        letters.extend(self.1.dead_letters(topic).await);
        letters
    }

    async fn restart(&self) -> Restarted {
        self.0.restart().await;
        self.1.restart().await
    }

    async fn refused(&self) -> Option<Result<Self::Service, Error>> {
        let refusing = self.1.refused().await?.ok()?;
        Some(Ok(Pair::new(self.0.service(Ordering::None).await, refusing)))
    }

    async fn throttled(&self) -> Option<Throttled<Self::Service>> {
        // Messages of the check have no key.
        let Throttled { service, throttle } = self.0.throttled().await?;
        Some(Throttled { service: Pair::new(service, self.1.service(Ordering::ByKey).await), throttle })
    }

    fn sizes(&self) -> Sizes {
        self.0.sizes()
    }

    fn settings(&self) -> QueueSettings {
        self.0.settings()
    }
}

/// Held by one test at a time, since the suite counts the processor time of the process.
static ALONE: Mutex<()> = Mutex::const_new(());

#[tokio::test]
async fn every_promise_is_kept() {
    let _alone = ALONE.lock().await;
    queue(&Memory::new(MemoryQueue::new(), &[Ordering::None, Ordering::ByKey, Ordering::OneReceiver])).await;
}

#[tokio::test]
async fn every_promise_is_kept_with_an_order_by_key() {
    let _alone = ALONE.lock().await;
    queue(&Memory::new(MemoryQueue::new(), &[Ordering::ByKey])).await;
}

#[tokio::test]
async fn every_promise_is_kept_with_an_order_for_one_receiver_and_no_multicast() {
    let _alone = ALONE.lock().await;
    queue(&Memory::new(MemoryQueue::new().without_multicast(), &[Ordering::OneReceiver])).await;
}

#[tokio::test]
async fn every_promise_is_kept_by_two_services_as_one() {
    let _alone = ALONE.lock().await;
    let one = Memory::new(MemoryQueue::new(), &[Ordering::None]);
    queue(&Two(one, Memory::new(MemoryQueue::new(), &[Ordering::ByKey]))).await;
}

/// The calls of some services don't wait for messages.
#[tokio::test]
async fn every_promise_is_kept_without_waiting() {
    let _alone = ALONE.lock().await;
    queue(&Memory::new(MemoryQueue::new().without_waiting(), &[Ordering::None])).await;
}
