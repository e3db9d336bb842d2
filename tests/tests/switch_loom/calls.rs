//! Sends and receptions, whole, while a group or a connection with two ends changes its round under them.

use super::explore;
use super::sound::round::{Round, Rounds};
use super::stack::{Stack, block_on};
use loom::sync::Arc;
use loom::thread;
use std::task::{Context, Waker};

type Call = thread::JoinHandle<Vec<u32>>;

/// An old round that is in force, and a new one.
fn rounds() -> ([Arc<Round<Stack>>; 2], Arc<Rounds<Stack>>) {
    let [old, new] = [(); 2].map(|()| Round::new(Stack::default()));
    let rounds = Arc::new(Rounds::new(&old));
    ([old, new], rounds)
}

fn sending(rounds: &Arc<Rounds<Stack>>, messages: std::ops::Range<u32>) -> Call {
    let rounds = rounds.clone();
    thread::spawn(move || {
        messages.clone().for_each(|message| block_on(rounds.send(message)).unwrap());
        messages.collect()
    })
}

fn receiving(rounds: &Arc<Rounds<Stack>>, count: usize) -> Call {
    let rounds = rounds.clone();
    thread::spawn(move || (0..count).map(|_| block_on(rounds.recv()).unwrap()).collect())
}

/// Waits until nobody has a seat.
fn vacate(seats: &super::sound::seats::Seats<Round<Stack>>) {
    seats.close();
    while seats.poll_empty(&Context::from_waker(Waker::noop())).is_pending() {
        thread::yield_now();
    }
}

/// Sends in the new round from now on. How many messages were sent in the old one.
fn begin(rounds: &Rounds<Stack>, old: &Round<Stack>, new: &Arc<Round<Stack>>) -> u64 {
    vacate(&rounds.sending);
    let sent = rounds.sending.total();
    assert_eq!(u64::from(old.connection.sent()), sent, "a message left without being counted");
    rounds.sending.open(new);
    sent
}

/// A change as a group makes it, be it to another stack or to the same again because whoever led it has gone: the old stack
/// runs dry, and a receiver finds that out. How many messages went through it.
fn change_among_many(rounds: &Rounds<Stack>, old: &Round<Stack>, new: &Arc<Round<Stack>>) -> u64 {
    let sent = begin(rounds, old, new);
    old.end();
    old.connection.end();
    while !old.is_empty() {
        thread::yield_now();
    }
    vacate(&rounds.receiving);
    let received = rounds.receiving.total();
    old.connection.retire();
    rounds.receiving.open(new);
    assert_eq!(received, sent, "the old stack was left with messages in it");
    received
}

/// A change as two ends make it: as many are received as were sent. How many that are in the old stack.
fn change_among_two(rounds: &Rounds<Stack>, old: &Round<Stack>, new: &Arc<Round<Stack>>) -> u64 {
    let sent = begin(rounds, old, new);
    while rounds.receiving.total() < sent {
        thread::yield_now();
    }
    vacate(&rounds.receiving);
    old.connection.retire();
    rounds.receiving.open(new);
    sent
}

#[test]
fn a_change_of_a_group_loses_and_swaps_nothing() {
    explore(2, || {
        let ([old, new], rounds) = rounds();
        // It receives until the change is over, as an application has to.
        let (sender, receiver) = (sending(&rounds, 0..1), receiving(&rounds, 2));
        let before = change_among_many(&rounds, &old, &new);
        let first = sender.join().unwrap();
        block_on(rounds.send(1)).unwrap();
        assert_eq!((first, receiver.join().unwrap()), (vec![0], vec![0, 1]));
        assert_eq!(before + rounds.sending.total(), 2);
        old.connection.check();
    });
}

#[test]
fn whoever_waits_in_a_group_leaves_with_the_one_that_finds_the_old_stack_dry() {
    explore(2, || {
        let ([old, new], rounds) = rounds();
        let receivers = [receiving(&rounds, 1), receiving(&rounds, 1)];
        let before = change_among_many(&rounds, &old, &new);
        block_on(async { rounds.send(0).await.and(rounds.send(1).await) }).unwrap();
        let mut received: Vec<u32> = receivers.into_iter().flat_map(|it| it.join().unwrap()).collect();
        received.sort_unstable();
        assert_eq!(received, [0, 1]);
        assert_eq!((before, rounds.receiving.total()), (0, 2));
        old.connection.check();
    });
}

#[test]
fn a_change_between_two_ends_loses_and_swaps_nothing() {
    explore(2, || {
        let ([old, new], rounds) = rounds();
        let (sender, receiver) = (sending(&rounds, 0..2), receiving(&rounds, 2));
        let before = change_among_two(&rounds, &old, &new);
        assert_eq!(receiver.join().unwrap(), sender.join().unwrap());
        assert_eq!(before + rounds.receiving.total(), 2);
        old.connection.check();
    });
}

/// The same with a change that does not wait for receivers, which must be found out.
#[test]
#[should_panic(expected = "a round that had ended")]
fn a_change_that_does_not_wait_for_receivers_is_found_out() {
    explore(2, || {
        let ([old, new], rounds) = rounds();
        let receiver = receiving(&rounds, 1);
        begin(&rounds, &old, &new);
        rounds.receiving.close();
        old.connection.retire();
        // Only then, so that a receiver does not wait for ever.
        vacate(&rounds.receiving);
        rounds.receiving.open(&new);
        block_on(rounds.send(0)).unwrap();
        receiver.join().unwrap();
        old.connection.check();
    });
}
