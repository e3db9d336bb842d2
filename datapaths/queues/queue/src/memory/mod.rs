//! A service in memory: the double for tests and examples.

mod ends;
mod faults;
mod limits;
mod subscription;
mod topics;

pub use ends::{MemoryPublisher, MemoryReceipt, MemorySubscription};
use faults::Faults;
use limits::Limits;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use topics::Topics;

use crate::{Abilities, Ordering, Service};
use bertha_core::{Error, ErrorKind};

/// A messaging service in the memory of this process, with all that services can do, and faults for tests. Clones are the
/// same service.
///
/// It delivers a message again that is not acknowledged for [`redelivery`](Self::redelivery), puts one aside that was
/// delivered too often, and keeps at most 100,000 messages for each subscription; then publishing is throttled.
///
/// | what it does | by default |
/// |---|---|
/// | [`ordering`](Self::ordering) | none, although messages that nobody gives back do stay in order |
/// | waiting for messages | yes; not [`without_waiting`](Self::without_waiting) |
/// | multicast | yes; not [`without_multicast`](Self::without_multicast) |
/// | [`max_message`](Self::max_message) | 256 KiB |
/// | batches, of each kind | 10 messages |
/// | retention | for ever |
/// | [`redelivery`](Self::redelivery) | after 30 seconds |
/// | [`dead_letters`](Self::dead_letters_after) | none |
#[derive(Clone)]
pub struct MemoryQueue {
    shared: Arc<Shared>,
    abilities: Abilities,
    dead_letters_after: Option<u32>,
    waits: bool,
}

#[derive(Default)]
struct Shared {
    topics: Mutex<Topics>,
    faults: Mutex<Faults>,
    /// Notified when there may be something to receive.
    changed: Notify,
}

impl MemoryQueue {
    /// An empty service.
    pub fn new() -> Self {
        let abilities = Abilities {
            service: "MemoryQueue",
            ordering: Ordering::None,
            multicast: true,
            max_message: 256 << 10,
            publish_batch: 10,
            publish_bytes: usize::MAX,
            receive_batch: 10,
            acknowledge_batch: 10,
            retention: None,
            redelivery: Duration::from_secs(30),
            dead_letters: false,
            one_by_one: false,
        };
        Self { shared: Arc::default(), abilities, dead_letters_after: None, waits: true }
    }

    /// The same service, which keeps this order on topics that are created through it.
    #[must_use]
    pub fn ordering(mut self, ordering: Ordering) -> Self {
        self.abilities.ordering = ordering;
        self.abilities.one_by_one = ordering == Ordering::ByKey;
        self
    }

    /// The same service, which delivers messages of its topics again after this time.
    #[must_use]
    pub fn redelivery(mut self, after: Duration) -> Self {
        self.abilities.redelivery = after;
        self
    }

    /// The same service, which puts a message aside after so many deliveries without an acknowledgement.
    #[must_use]
    pub fn dead_letters_after(mut self, deliveries: u32) -> Self {
        self.dead_letters_after = Some(deliveries);
        self.abilities.dead_letters = true;
        self
    }

    /// The same service, for messages of at most so many bytes.
    #[must_use]
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.abilities.max_message = bytes;
        self
    }

    /// The same service, with one subscription for each topic.
    #[must_use]
    pub fn without_multicast(mut self) -> Self {
        self.abilities.multicast = false;
        self
    }

    /// The same service, whose calls that receive return at once.
    #[must_use]
    pub fn without_waiting(mut self) -> Self {
        self.waits = false;
        self
    }

    /// Has the next `calls` calls fail as throttled.
    pub fn throttle(&self, calls: usize) {
        self.shared.faults.lock().throttled = calls;
    }

    /// Has every call fail as by a server that is away, until it is back.
    pub fn set_away(&self, is_away: bool) {
        self.shared.faults.lock().is_away = is_away;
        self.shared.changed.notify_waiters();
    }

    /// Has every call of this and all other values fail as by a server that refuses the credentials, or no call any more.
    pub fn set_refusing(&self, is_refusing: bool) {
        self.shared.faults.lock().is_refusing = is_refusing;
        self.shared.changed.notify_waiters();
    }

    /// Delivers every message again that was delivered and not acknowledged, as a server does that was restarted.
    pub fn redeliver(&self) {
        self.shared.topics.lock().redeliver();
        self.shared.changed.notify_waiters();
    }

    /// The messages of `topic` that were put aside.
    pub fn dead_letters(&self, topic: &str) -> Vec<Vec<u8>> {
        self.shared.topics.lock().dead_letters(topic)
    }

    /// The number of messages of `topic` that are kept for its subscription: waiting, or delivered and not acknowledged.
    pub fn kept(&self, topic: &str, subscription: &str) -> usize {
        self.shared.topics.lock().kept(topic, subscription)
    }

    /// The number of calls that were made of the service, failed ones included.
    pub fn calls(&self) -> u64 {
        self.shared.faults.lock().calls
    }

    fn limits(&self) -> Limits {
        let Abilities { ordering, multicast, redelivery, .. } = self.abilities;
        Limits { ordering, has_multicast: multicast, redelivery, dead_letters_after: self.dead_letters_after }
    }
}

impl Service for MemoryQueue {
    type Publisher = MemoryPublisher;
    type Subscription = MemorySubscription;

    fn abilities(&self, _topic: &str) -> Abilities {
        self.abilities
    }

    async fn publisher(&self, topic: &str) -> Result<MemoryPublisher, Error> {
        self.shared.faults.lock().check()?;
        self.shared.topics.lock().find(topic)?;
        Ok(MemoryPublisher { shared: self.shared.clone(), topic: topic.into(), abilities: self.abilities })
    }

    async fn subscription(&self, topic: &str, name: &str) -> Result<MemorySubscription, Error> {
        self.shared.faults.lock().check()?;
        self.shared.topics.lock().find(topic)?.subscribe(name)?;
        Ok(MemorySubscription {
            shared: self.shared.clone(),
            topic: topic.into(),
            name: name.into(),
            abilities: self.abilities,
            waits: self.waits,
        })
    }

    async fn create(&self, topic: &str) -> Result<(), Error> {
        self.shared.faults.lock().check()?;
        self.shared.topics.lock().create(topic, self.limits());
        Ok(())
    }

    async fn delete(&self, topic: &str) -> Result<(), Error> {
        self.shared.faults.lock().check()?;
        self.shared.topics.lock().delete(topic);
        self.shared.changed.notify_waiters();
        Ok(())
    }
}

impl Default for MemoryQueue {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryQueue").field("abilities", &self.abilities).finish_non_exhaustive()
    }
}

/// An error of this service.
fn error(kind: ErrorKind, what: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(kind, what).at("MemoryQueue")
}
