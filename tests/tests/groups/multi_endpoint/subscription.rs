//! A messaging service in virtual time: a subscription whose receivers share its messages.

use crate::multi_endpoint::crowd::Dice;
use bertha_core::{Buf, Connection, Delivery, Error, ErrorKind, Group, OrdersByKey, Runtime};
use bertha_datapath_sim::{PairBase, PairConnection, SimRuntime, pair};
use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Time after which a message without an acknowledgement is delivered again.
pub(crate) const REDELIVERY: Duration = Duration::from_millis(300);

/// The faults of the service.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Faults {
    /// Percentage of deliveries that are repeated at once.
    pub(crate) repeated: u64,
    /// Longest pause of the service, in microseconds. During a pause it delivers no messages, as Kafka does
    /// while receivers come and go.
    pub(crate) paused: u64,
}

/// A subscription. Messages with a key are delivered in order, one message of a key at a time. Messages
/// without a key are delivered in any order.
#[derive(Clone)]
pub(crate) struct Subscription {
    runtime: SimRuntime,
    state: Arc<Mutex<State>>,
}

struct State {
    dice: Dice,
    faults: Faults,
    /// End of the service's pause.
    resumes: Instant,
    next: u64,
    waiting: BTreeMap<u64, Message>,
    delivered: BTreeMap<u64, UnderWay>,
}

#[derive(Clone)]
struct Message {
    /// Time from which the message can be delivered.
    from: Instant,
    key: Option<u64>,
    bytes: Vec<u8>,
}

struct UnderWay {
    place: u64,
    message: Message,
    until: Instant,
    /// True if the message's connection is open.
    is_open: Arc<AtomicBool>,
}

impl Subscription {
    pub(crate) fn new(runtime: SimRuntime, seed: u64, faults: Faults) -> Self {
        let (waiting, delivered) = Default::default();
        let resumes = runtime.now();
        let state = State { dice: Dice::new(seed), faults, resumes, next: 0, waiting, delivered };
        Self { runtime, state: Arc::new(Mutex::new(state)) }
    }

    /// Makes an end that publishes or receives.
    pub(crate) fn group(&self, receives: bool) -> SharedGroup {
        SharedGroup { subscription: self.clone(), receives }
    }

    /// Returns the number of messages without an acknowledgement.
    pub(crate) fn kept(&self) -> usize {
        let state = self.state.lock().unwrap();
        state.waiting.len() + state.delivered.len()
    }

    fn publish(&self, key: Option<u64>, bytes: &[u8]) {
        let mut state = self.state.lock().unwrap();
        let from = self.runtime.now() + Duration::from_micros(state.dice.roll(3000));
        state.next += 1;
        let place = state.next;
        state.waiting.insert(place, Message { from, key, bytes: bytes.to_vec() });
    }

    fn deliver(&self, is_open: &Arc<AtomicBool>) -> Option<Buf> {
        let (now, mut state) = (self.runtime.now(), self.state.lock().unwrap());
        let Faults { repeated, paused } = state.faults;
        // The next pause begins only after all waiting messages can be taken.
        let may_pause = paused > 0 && now > state.resumes + REDELIVERY;
        if may_pause && state.dice.roll(100) == 0 {
            state.resumes = now + Duration::from_micros(state.dice.roll(paused));
        }
        if now < state.resumes {
            return None;
        }
        let late: Vec<u64> =
            state.delivered.iter().filter(|(_, it)| it.until <= now).map(|(at, _)| *at).collect();
        for receipt in late {
            let UnderWay { place, message, .. } = state.delivered.remove(&receipt).unwrap();
            state.waiting.insert(place, message);
        }
        let mut busy: HashSet<u64> = state.delivered.values().filter_map(|it| it.message.key).collect();
        // The messages are looked through in order, so only the first message of a key can be free.
        let free = |message: &Message| {
            let is_first = message.key.is_none_or(|key| busy.insert(key));
            is_first && message.from <= now
        };
        let mut free = free;
        let free: Vec<u64> =
            state.waiting.iter().filter(|(_, it)| free(it)).map(|(place, _)| *place).collect();
        if free.is_empty() {
            return None;
        }
        let place = free[state.dice.roll(free.len() as u64) as usize];
        let message = state.waiting.remove(&place).unwrap();
        let bytes = message.bytes.clone();
        state.next += 1;
        let receipt = state.next;
        if message.key.is_none() && state.dice.roll(100) < repeated {
            // The repetition goes to any receiver, even if the first delivery is not acknowledged yet.
            let from = now + Duration::from_millis(state.dice.roll(20));
            state.waiting.insert(place, Message { from, ..message.clone() });
        }
        let until = now + REDELIVERY;
        state.delivered.insert(receipt, UnderWay { place, message, until, is_open: is_open.clone() });
        drop(state);
        let taken = Taken { bytes, receipt, subscription: self.clone(), is_open: is_open.clone() };
        Some(Buf::from_owner(taken).unwrap_or_else(|_| unreachable!()))
    }
}

/// A message at a receiver, which is acknowledged when it is dropped.
struct Taken {
    bytes: Vec<u8>,
    receipt: u64,
    subscription: Subscription,
    is_open: Arc<AtomicBool>,
}

impl AsMut<[u8]> for Taken {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if self.is_open.load(Ordering::Relaxed) {
            self.subscription.state.lock().unwrap().delivered.remove(&self.receipt);
        }
    }
}

#[derive(Clone)]
pub(crate) struct SharedGroup {
    subscription: Subscription,
    receives: bool,
}

impl Group for SharedGroup {
    type Connection = SharedConnection;

    async fn join(&self) -> Result<SharedConnection, Error> {
        let (below, other) = pair(self.subscription.runtime.clone());
        let is_open = Arc::new(AtomicBool::new(true));
        Ok(SharedConnection { below, _other: other, group: self.clone(), is_open })
    }

    fn delivery(&self) -> Delivery {
        Delivery::Shared { sends: !self.receives, receives: self.receives, redelivery: REDELIVERY }
    }
}

pub(crate) struct SharedConnection {
    /// A connection whose base is used, and nothing else of it.
    below: PairConnection<SimRuntime>,
    _other: PairConnection<SimRuntime>,
    group: SharedGroup,
    is_open: Arc<AtomicBool>,
}

impl SharedConnection {
    async fn publish(&self, key: Option<u64>, message: Buf) -> Result<(), Error> {
        let subscription = &self.group.subscription;
        let pause = subscription.state.lock().unwrap().dice.roll(200);
        subscription.runtime.sleep(Duration::from_micros(pause)).await;
        assert!(!self.group.receives, "receivers publish nothing here");
        subscription.publish(key, &message);
        Ok(())
    }
}

impl Connection for SharedConnection {
    type Data = Buf;
    type Base = PairBase<SimRuntime>;

    fn base(&self) -> &PairBase<SimRuntime> {
        self.below.base()
    }

    fn mtu(&self) -> usize {
        self.below.mtu()
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.publish(None, message).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        assert!(self.group.receives, "publishers receive nothing");
        loop {
            if !self.is_open.load(Ordering::Relaxed) {
                return Err(Error::new(ErrorKind::Closed, "closed"));
            }
            if let Some(message) = self.group.subscription.deliver(&self.is_open) {
                return Ok(message);
            }
            self.group.subscription.runtime.sleep(Duration::from_micros(500)).await;
        }
    }

    async fn drain(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Gives the held messages back.
    async fn close(&self) -> Result<(), Error> {
        self.is_open.store(false, Ordering::Relaxed);
        let mut state = self.group.subscription.state.lock().unwrap();
        let now = self.group.subscription.runtime.now();
        let own = state.delivered.values_mut().filter(|it| Arc::ptr_eq(&it.is_open, &self.is_open));
        own.for_each(|it| it.until = now);
        Ok(())
    }
}

impl OrdersByKey for SharedConnection {
    fn keeps_order_by_key(&self) -> Result<(), Error> {
        Ok(())
    }

    async fn send_by_key(&self, key: u64, message: Buf) -> Result<(), Error> {
        self.publish(Some(key), message).await
    }

    async fn send_batch_by_key(
        &self,
        messages: impl Iterator<Item = (u64, Buf)> + Send,
    ) -> Result<(), Error> {
        for (key, message) in messages {
            self.publish(Some(key), message).await?;
        }
        Ok(())
    }
}

/// Ends as a killed process does: the held messages come again later.
impl Drop for SharedConnection {
    fn drop(&mut self) {
        self.is_open.store(false, Ordering::Relaxed);
    }
}
