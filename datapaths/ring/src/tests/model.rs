//! All interleavings of the two ends, as far as the processor may reorder them.

use crate::{Consumer, Producer, Ring, Word};
use loom::sync::atomic::{AtomicU64, Ordering, fence};
use loom::sync::{Arc, Notify};
use loom::thread;

impl Word for AtomicU64 {
    fn load(&self, order: Ordering) -> u64 {
        Self::load(self, order)
    }

    fn store(&self, value: u64, order: Ordering) {
        Self::store(self, value, order);
    }

    fn swap(&self, value: u64, order: Ordering) -> u64 {
        Self::swap(self, value, order)
    }

    fn fence() {
        fence(Ordering::SeqCst);
    }
}

/// A ring of a few words, and the bells of its two ends.
struct Shared {
    words: Vec<AtomicU64>,
    receiver: Notify,
    sender: Notify,
}

impl Shared {
    fn new(words: usize) -> Arc<Self> {
        let words = (0..4 + words).map(|_| AtomicU64::new(0)).collect();
        Arc::new(Self { words, receiver: Notify::new(), sender: Notify::new() })
    }

    fn ring(&self) -> Ring<'_, AtomicU64> {
        let [released, asleep, wants_room, ended, data @ ..] = &self.words[..] else { panic!("few words") };
        Ring { released, asleep, wants_room, ended, data }
    }

    fn send(&self, producer: &mut Producer, message: u64) {
        let ring = self.ring();
        let mut sent = producer.push(ring, &message.to_ne_bytes()).unwrap();
        if !sent {
            producer.await_room(ring);
            sent = producer.push(ring, &message.to_ne_bytes()).unwrap();
        }
        while !sent {
            self.sender.wait();
            sent = producer.push(ring, &message.to_ne_bytes()).unwrap();
            if !sent {
                producer.await_room(ring);
                sent = producer.push(ring, &message.to_ne_bytes()).unwrap();
            }
        }
        if producer.publish(ring) {
            self.receiver.notify();
        }
    }

    fn pop(&self, consumer: &mut Consumer) -> Option<u64> {
        let ring = self.ring();
        let popped = consumer.pop(ring).unwrap();
        if consumer.release(ring, popped.is_none()) {
            self.sender.notify();
        }
        popped.map(|message| u64::from_ne_bytes(message[..].try_into().unwrap()))
    }

    fn receive(&self, consumer: &mut Consumer) -> u64 {
        loop {
            if let Some(message) = self.pop(consumer) {
                return message;
            }
            Consumer::fall_asleep(self.ring());
            if let Some(message) = self.pop(consumer) {
                return message;
            }
            self.receiver.wait();
        }
    }
}

/// Explores all interleavings. A lost wake-up is a deadlock, which the model checker reports, and so is a
/// torn message.
fn explore(words: usize, messages: u64) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let shared = Shared::new(words);
        let sender = thread::spawn({
            let shared = shared.clone();
            move || {
                let mut producer = Producer::default();
                (1..=messages).for_each(|number| shared.send(&mut producer, number << 40 | number));
            }
        });
        let mut consumer = Consumer::new(8);
        for number in 1..=messages {
            assert_eq!(shared.receive(&mut consumer), number << 40 | number);
        }
        sender.join().unwrap();
    });
}

#[test]
fn no_message_is_missed_or_torn() {
    explore(8, 2);
}

/// The ring has room for a single message at a time.
#[test]
fn no_room_is_missed() {
    explore(4, 2);
}
