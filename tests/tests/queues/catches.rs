//! The suite of queues fails a service that breaks one of its promises.

use bertha_core::{Error, ErrorKind};
use bertha_queues::{
    Abilities, Incoming, MemoryPublisher, MemoryQueue, MemoryReceipt, MemorySubscription, Ordering, Outgoing,
    Publisher, QueueSettings, Service, Subscription, Topic, Unsent,
};
use bertha_tests::conformance::queue::*;
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The promise that a service breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Nothing,
    LosesSome,
    CutsMessages,
    ReversesBursts,
    Spins,
    TakesFailureForSuccess,
    AcknowledgesBeforeTheWork,
    SharesSubscriptions,
    CopiesForEachReceiver,
    HasNoDeadLetters,
    PromisesLongerMessages,
    CallsRefusalsInvalid,
    CallsThrottlingInvalid,
    PromisesOrder,
    StaysAway,
}

/// The service in memory, with a fault.
#[derive(Clone)]
struct Broken {
    service: MemoryQueue,
    fault: Fault,
}

struct End<E> {
    end: E,
    fault: Fault,
}

impl Broken {
    fn renamed<T>(&self, outcome: Result<T, Error>) -> Result<T, Error> {
        renamed(self.fault, outcome)
    }
}

fn renamed<T>(fault: Fault, outcome: Result<T, Error>) -> Result<T, Error> {
    outcome.map_err(|error| match (fault, error.kind()) {
        (Fault::CallsRefusalsInvalid, ErrorKind::Unauthenticated)
        | (Fault::CallsThrottlingInvalid, ErrorKind::Exhausted) => {
            Error::new(ErrorKind::Invalid, error.context().to_owned())
        }
        _ => error,
    })
}

impl Service for Broken {
    type Publisher = End<MemoryPublisher>;
    type Subscription = End<MemorySubscription>;

    fn abilities(&self, topic: &str) -> Abilities {
        let mut abilities = self.service.abilities(topic);
        match self.fault {
            Fault::HasNoDeadLetters => abilities.dead_letters = true,
            Fault::PromisesLongerMessages => abilities.max_message += 1,
            Fault::PromisesOrder => abilities.ordering = Ordering::OneReceiver,
            _ => {}
        }
        abilities
    }

    async fn publisher(&self, topic: &str) -> Result<Self::Publisher, Error> {
        let end = self.renamed(self.service.publisher(topic).await)?;
        Ok(End { end, fault: self.fault })
    }

    async fn subscription(&self, topic: &str, name: &str) -> Result<Self::Subscription, Error> {
        static OPENED: AtomicU64 = AtomicU64::new(0);
        let name = match self.fault {
            Fault::SharesSubscriptions => "one for all".into(),
            Fault::CopiesForEachReceiver => format!("{name} {}", OPENED.fetch_add(1, Relaxed)),
            _ => name.to_owned(),
        };
        let end = self.renamed(self.service.subscription(topic, &name).await)?;
        Ok(End { end, fault: self.fault })
    }

    async fn create(&self, topic: &str) -> Result<(), Error> {
        self.renamed(self.service.create(topic).await)
    }

    async fn delete(&self, topic: &str) -> Result<(), Error> {
        self.service.delete(topic).await
    }
}

impl Publisher for End<MemoryPublisher> {
    async fn publish(&self, burst: &[Outgoing<'_>]) -> Result<Vec<Unsent>, Error> {
        let mut burst = burst.to_vec();
        match self.fault {
            Fault::LosesSome if burst.len() > 1 => drop(burst.pop()),
            Fault::CutsMessages => {
                burst.iter_mut().for_each(|it| it.payload = it.payload.get(1..).unwrap_or(&[]))
            }
            Fault::ReversesBursts => burst.reverse(),
            _ => {}
        }
        renamed(self.fault, self.end.publish(&burst).await)
    }
}

impl Subscription for End<MemorySubscription> {
    type Receipt = MemoryReceipt;

    async fn receive(&self, limit: usize, wait: Duration) -> Result<Vec<Incoming<MemoryReceipt>>, Error> {
        if self.fault == Fault::Spins {
            // The call computes for as long as a busy wait would, however little of the processor the machine
            // grants at a time.
            let end = computed() + Duration::from_millis(500);
            while computed() < end {}
        }
        let burst = renamed(self.fault, self.end.receive(limit, wait).await)?;
        if self.fault == Fault::AcknowledgesBeforeTheWork {
            for message in &burst {
                self.end.acknowledge(std::slice::from_ref(&message.receipt)).await?;
            }
        }
        Ok(burst)
    }

    async fn acknowledge(&self, receipts: &[MemoryReceipt]) -> Result<(), Error> {
        renamed(self.fault, self.end.acknowledge(receipts).await)
    }

    async fn give_back(&self, receipts: &[MemoryReceipt]) -> Result<(), Error> {
        match self.fault {
            Fault::TakesFailureForSuccess => self.end.acknowledge(receipts).await,
            _ => self.end.give_back(receipts).await,
        }
    }
}

/// Returns the processor time of this thread.
fn computed() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

struct Site {
    broken: Broken,
    ordering: Ordering,
}

impl QueueSite for Site {
    type Service = Broken;

    fn orders(&self) -> &[Ordering] {
        std::slice::from_ref(&self.ordering)
    }

    async fn service(&self, ordering: Ordering) -> Broken {
        Broken { service: self.broken.service.clone().ordering(ordering), fault: self.broken.fault }
    }

    async fn impatient(&self) -> Broken {
        let mut service = self.broken.service.clone().redelivery(Duration::from_millis(200));
        if self.broken.fault != Fault::HasNoDeadLetters {
            service = service.dead_letters_after(3);
        }
        Broken { service, fault: self.broken.fault }
    }

    async fn kill_a_receiver(&self, topic: &str, subscription: &str, messages: usize) {
        use bertha_core::Connection;
        let (topic, subscription) = (Topic::new(self.impatient().await, topic), subscription.to_owned());
        let process = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            let held = runtime.block_on(async {
                let receiver = topic.receiver(&subscription).await.unwrap();
                let mut held = Vec::new();
                while held.len() < messages {
                    held.push(receiver.recv().await.unwrap());
                }
                (held, receiver)
            });
            drop(runtime);
            drop(held);
        });
        process.join().unwrap();
    }

    async fn dead_letters(&self, topic: &str) -> Vec<Vec<u8>> {
        self.broken.service.dead_letters(topic)
    }

    async fn restart(&self) -> Restarted {
        self.broken.service.set_away(true);
        tokio::time::sleep(Duration::from_millis(50)).await;
        self.broken.service.set_away(self.broken.fault == Fault::StaysAway);
        Restarted::WithData
    }

    async fn refused(&self) -> Option<Result<Broken, Error>> {
        let service = MemoryQueue::new();
        service.set_refusing(true);
        Some(Ok(Broken { service, fault: self.broken.fault }))
    }

    async fn throttled(&self) -> Option<Throttled<Broken>> {
        let (service, faults) = (self.service(self.ordering).await, self.broken.service.clone());
        Some(Throttled { service, throttle: Box::new(move |calls| faults.throttle(calls)) })
    }

    fn sizes(&self) -> Sizes {
        let mut sizes = Sizes::default();
        (sizes.messages, sizes.few) = (1000, 50);
        (sizes.idle, sizes.patience) = (Duration::from_secs(1), Duration::from_secs(3));
        sizes
    }

    fn settings(&self) -> QueueSettings {
        let mut settings = QueueSettings::default().acknowledge_by_dropping(true);
        settings.retry_pause = Duration::from_millis(5);
        settings
    }
}

fn site(fault: Fault, ordering: Ordering) -> Site {
    Site { broken: Broken { service: MemoryQueue::new(), fault }, ordering }
}

/// Returns true if a check fails.
async fn fails(check: impl Future<Output = ()>) -> bool {
    AssertUnwindSafe(check).catch_unwind().await.is_err()
}

macro_rules! catches {
    ($($check:ident: $fault:ident, $ordering:ident;)*) => {$(
        #[tokio::test]
        async fn $check() {
            let (good, bad) = (site(Fault::Nothing, Ordering::$ordering), site(Fault::$fault, Ordering::$ordering));
            assert!(!fails(bertha_tests::conformance::queue::$check(&good)).await, "a service without fault fails");
            assert!(fails(bertha_tests::conformance::queue::$check(&bad)).await, "{:?} goes unnoticed", Fault::$fault);
        }
    )*};
}

catches! {
    every_byte_survives: CutsMessages, None;
    messages_with_a_key_stay_in_order: ReversesBursts, ByKey;
    messages_to_one_receiver_stay_in_order: ReversesBursts, OneReceiver;
    a_stack_gets_the_order_that_is_kept: PromisesOrder, None;
    no_message_is_lost: LosesSome, None;
    competing_receivers_share: LosesSome, None;
    every_subscription_gets_all: SharesSubscriptions, None;
    a_message_that_is_held_comes_to_nobody_else: CopiesForEachReceiver, None;
    a_message_whose_work_fails_comes_again: TakesFailureForSuccess, None;
    messages_of_a_closed_receiver_come_again: TakesFailureForSuccess, None;
    messages_of_a_killed_receiver_come_again: AcknowledgesBeforeTheWork, None;
    a_message_that_always_fails_is_put_aside: HasNoDeadLetters, None;
    a_cancelled_recv_loses_nothing: LosesSome, None;
    too_large_a_message_is_named: PromisesLongerMessages, None;
    refused_credentials_are_named: CallsRefusalsInvalid, None;
    throttling_is_met_with_pauses: CallsThrottlingInvalid, None;
    a_restart_is_survived: StaysAway, None;
    connections_keep_their_promises: LosesSome, None;
}

/// Its counterpart without a fault runs alone in `memory`, since it counts the time that the process computes.
#[tokio::test]
async fn an_empty_queue_is_waited_for() {
    let bad = site(Fault::Spins, Ordering::None);
    assert!(fails(bertha_tests::conformance::queue::an_empty_queue_is_waited_for(&bad)).await);
}
