//! Whole sends and receptions, while a group or a connection with two ends changes its epoch.

use super::explore;
use super::stack::{Stack, block_on};
use crate::upgrade::epoch::{Epoch, Epochs};
use crate::upgrade::slots::Slots;
use loom::thread;
use std::sync::Arc;
use std::task::{Context, Waker};

type Call = thread::JoinHandle<Vec<u32>>;

/// Returns an old epoch, which is in force, and a new epoch.
fn epochs() -> ([Arc<Epoch<Stack>>; 2], Arc<Epochs<Stack>>) {
    let [old, new] = [(); 2].map(|()| Epoch::new(Stack::default()));
    let epochs = Arc::new(Epochs::new(&old, || false));
    ([old, new], epochs)
}

fn sending(epochs: &Arc<Epochs<Stack>>, messages: std::ops::Range<u32>) -> Call {
    let epochs = epochs.clone();
    thread::spawn(move || {
        messages.clone().for_each(|message| block_on(epochs.send(message)).unwrap());
        messages.collect()
    })
}

fn receiving(epochs: &Arc<Epochs<Stack>>, count: usize) -> Call {
    let epochs = epochs.clone();
    thread::spawn(move || (0..count).map(|_| block_on(epochs.recv()).unwrap()).collect())
}

/// Closes the slots, and waits until they are empty.
fn vacate(slots: &Slots<Epoch<Stack>>) {
    slots.close();
    while slots.poll_empty(&Context::from_waker(Waker::noop())).is_pending() {
        thread::yield_now();
    }
}

/// Begins to send in the new epoch. Returns the number of messages that were sent in the old epoch.
fn begin(epochs: &Epochs<Stack>, old: &Epoch<Stack>, new: &Arc<Epoch<Stack>>) -> u64 {
    vacate(&epochs.sending);
    let sent = epochs.sending.total();
    assert_eq!(u64::from(old.connection.sent()), sent, "a message left without being counted");
    epochs.sending.open(new);
    sent
}

/// Changes the epoch as a group does, to another stack, or to an equal stack because the leader has gone: the old
/// stack runs dry, and a receiver finds it empty. Returns the number of messages that went through the old stack.
fn change_among_many(epochs: &Epochs<Stack>, old: &Epoch<Stack>, new: &Arc<Epoch<Stack>>) -> u64 {
    let sent = begin(epochs, old, new);
    old.end();
    old.connection.end();
    while !old.is_empty() {
        thread::yield_now();
    }
    vacate(&epochs.receiving);
    let received = epochs.receiving.total();
    old.connection.retire();
    epochs.receiving.open(new);
    assert_eq!(received, sent, "the old stack was left with messages in it");
    received
}

/// Changes the epoch as two ends do: all messages that were sent in the old stack are received there. Returns
/// their number.
fn change_among_two(epochs: &Epochs<Stack>, old: &Epoch<Stack>, new: &Arc<Epoch<Stack>>) -> u64 {
    let sent = begin(epochs, old, new);
    while epochs.receiving.total() < sent {
        thread::yield_now();
    }
    vacate(&epochs.receiving);
    old.connection.retire();
    epochs.receiving.open(new);
    sent
}

#[test]
fn a_change_of_a_group_loses_and_swaps_nothing() {
    explore(2, || {
        let ([old, new], epochs) = epochs();
        // The receiver goes on until the change is over, as an application has to.
        let sender = sending(&epochs, 0..1);
        let receiver = receiving(&epochs, 2);
        let before = change_among_many(&epochs, &old, &new);
        let first = sender.join().unwrap();
        block_on(epochs.send(1)).unwrap();
        assert_eq!((first, receiver.join().unwrap()), (vec![0], vec![0, 1]));
        assert_eq!(before + epochs.sending.total(), 2);
        old.connection.check();
    });
}

#[test]
fn a_call_that_waits_in_a_group_leaves_with_the_one_that_finds_the_old_stack_dry() {
    explore(2, || {
        let ([old, new], epochs) = epochs();
        let receivers = [receiving(&epochs, 1), receiving(&epochs, 1)];
        let before = change_among_many(&epochs, &old, &new);
        block_on(async { epochs.send(0).await.and(epochs.send(1).await) }).unwrap();
        let mut received: Vec<u32> = receivers.into_iter().flat_map(|it| it.join().unwrap()).collect();
        received.sort_unstable();
        assert_eq!(received, [0, 1]);
        assert_eq!((before, epochs.receiving.total()), (0, 2));
        old.connection.check();
    });
}

#[test]
fn a_change_between_two_ends_loses_and_swaps_nothing() {
    explore(2, || {
        let ([old, new], epochs) = epochs();
        let sender = sending(&epochs, 0..2);
        let receiver = receiving(&epochs, 2);
        let before = change_among_two(&epochs, &old, &new);
        assert_eq!(receiver.join().unwrap(), sender.join().unwrap());
        assert_eq!(before + epochs.receiving.total(), 2);
        old.connection.check();
    });
}

/// The models notice a change that does not wait for receivers.
#[test]
#[should_panic(expected = "an epoch that had ended")]
fn a_change_that_does_not_wait_for_receivers_is_found_out() {
    explore(2, || {
        let ([old, new], epochs) = epochs();
        let receiver = receiving(&epochs, 1);
        begin(&epochs, &old, &new);
        epochs.receiving.close();
        old.connection.retire();
        // Too late, but before the end of the model, so that no receiver waits for ever.
        vacate(&epochs.receiving);
        epochs.receiving.open(&new);
        block_on(epochs.send(0)).unwrap();
        receiver.join().unwrap();
        old.connection.check();
    });
}
