//! A service in memory, for tests and examples.

mod ends;
mod faults;
mod limits;
mod subscription;
mod topics;

pub use ends::{MemoryPublisher, MemoryReceipt, MemorySubscription};
use faults::Faults;
use limits::Limits;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use topics::Topics;

use crate::{Abilities, Ordering, Service};
use bertha_core::{Error, ErrorKind};

/// A messaging service in the memory of this process, with all abilities of services, and faults for tests.
/// Clones refer to the service of the original.
///
/// The service delivers a message again that is not acknowledged for [`redelivery`](Self::redelivery), puts a
/// message aside that was delivered too often, and keeps at most 100,000 messages for each subscription; then
/// publishing is throttled.
///
/// | what it does | by default |
/// |---|---|
/// | [`ordering`](Self::ordering) | none, although messages that are not given back do stay in order |
/// | waiting for messages | yes; not [`without_waiting`](Self::without_waiting) |
/// | multicast | yes; not [`without_multicast`](Self::without_multicast) |
/// | [`max_message`](Self::max_message) | 256 KiB |
/// | batches, of each kind | 10 messages |
/// | retention | unlimited |
/// | [`redelivery`](Self::redelivery) | after 30 seconds |
/// | [`dead_letters`](Self::dead_letters_after) | none |
#[derive(Clone)]
pub struct MemoryQueue {
    shared: Arc<MemoryShared>,
    abilities: Abilities,
    dead_letters_after: Option<u32>,
    waits: bool,
}

#[derive(Default)]
struct MemoryShared {
    topics: Mutex<Topics>,
    faults: Mutex<Faults>,
    /// Notifies receivers that there may be something to receive.
    changed: Notify,
}

impl MemoryQueue {
    /// Creates an empty service.
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

    /// Sets the order of topics that are created through this value.
    #[must_use]
    pub fn ordering(mut self, ordering: Ordering) -> Self {
        self.abilities.ordering = ordering;
        self.abilities.one_by_one = ordering == Ordering::ByKey;
        self
    }

    /// Sets the time after which messages of its topics are delivered again.
    #[must_use]
    pub fn redelivery(mut self, after: Duration) -> Self {
        self.abilities.redelivery = after;
        self
    }

    /// Sets the number of deliveries without an acknowledgement after which a message is put aside. With
    /// `None`, the default, it is delivered again and again.
    #[must_use]
    pub fn dead_letters_after(mut self, deliveries: impl Into<Option<u32>>) -> Self {
        self.dead_letters_after = deliveries.into();
        self.abilities.dead_letters = self.dead_letters_after.is_some();
        self
    }

    /// Sets the length of the longest message in bytes.
    #[must_use]
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.abilities.max_message = bytes;
        self
    }

    /// Permits only a single subscription for each topic.
    #[must_use]
    pub fn without_multicast(mut self) -> Self {
        self.abilities.multicast = false;
        self
    }

    /// Refuses all messages of a call that publishes more than `bytes`, as a server does with a limit that its
    /// client does not know.
    pub fn refuse_calls_above(&self, bytes: usize) {
        self.shared.faults.lock().max_call = Some(bytes);
    }

    /// Makes calls that receive return at once.
    #[must_use]
    pub fn without_waiting(mut self) -> Self {
        self.waits = false;
        self
    }

    /// Makes the next `calls` calls fail as throttled.
    pub fn throttle(&self, calls: usize) {
        self.shared.faults.lock().throttled = calls;
    }

    /// Makes all calls fail as if the server were away, or succeed again.
    pub fn set_away(&self, is_away: bool) {
        self.shared.faults.lock().is_away = is_away;
        self.shared.changed.notify_waiters();
    }

    /// Makes all calls fail with `Unauthenticated`, on all clones, or succeed again.
    pub fn set_refusing(&self, is_refusing: bool) {
        self.shared.faults.lock().is_refusing = is_refusing;
        self.shared.changed.notify_waiters();
    }

    /// Delivers every message again that was delivered and not acknowledged, as a restarted server does.
    pub fn redeliver(&self) {
        self.shared.topics.lock().redeliver();
        self.shared.changed.notify_waiters();
    }

    /// Returns the messages of `topic` that were put aside.
    pub fn dead_letters(&self, topic: &str) -> Vec<Vec<u8>> {
        self.shared.topics.lock().dead_letters(topic)
    }

    /// Returns the number of messages of `topic` that are kept for its subscription: waiting messages, and
    /// delivered messages that were not acknowledged.
    pub fn kept(&self, topic: &str, subscription: &str) -> usize {
        self.shared.topics.lock().kept(topic, subscription)
    }

    /// Returns the number of calls of the service, failed calls included.
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

bertha_core::debug_fields!(MemoryQueue { abilities });

/// Returns an error of this service.
fn error(kind: ErrorKind, what: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(kind, what).at("MemoryQueue")
}
