//! A receiver that takes the stream back without an answer of the sender.

use super::pair::{byte, layout, memory, side};
use super::{Pair, Receiver, Sender, Source, steps, take};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Bytes come once and in order, whether the sender answers later, goes on, or never does anything again.
    #[test]
    fn a_severed_stream_goes_on_where_it_was(
        before in steps(),
        is_asked in any::<bool>(),
        reads in prop::collection::vec(1..2000_usize, 0..5),
        end in 0..3,
        after in steps(),
    ) {
        let mut pair = Pair::new();
        before.into_iter().for_each(|step| take(&mut pair, step));
        if is_asked {
            pair.ask();
            reads.into_iter().for_each(|most| pair.read(most, |_| ()));
        }
        pair.sever();
        pair.peek();
        match end {
            0 => {}
            1 => pair.close(),
            _ => after.into_iter().for_each(|step| take(&mut pair, step)),
        }
        pair.peek();
        pair.read_all();
        prop_assert_eq!(pair.read, pair.written);
        prop_assert_eq!(pair.receiver.next(side(&memory())), Ok(Source::Carrier));
    }
}

/// Bytes come once, whatever the sender does while the receiver takes the stream back.
#[test]
fn a_sender_that_writes_meanwhile_loses_nothing() {
    (0..400).for_each(meet);
}

fn meet(seed: u64) {
    const MESSAGES: u64 = 60;
    let memory = memory();
    let carrier = Mutex::new(VecDeque::new());
    let mut receiver = Receiver::new(side(&memory), 0);
    receiver.attach(side(&memory));
    let (written, is_done) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut sender, mut at) = (Sender::new(0), 0);
            for message in 0..MESSAGES {
                let data: Vec<_> = (at..at + 1 + (seed + message) % 40).map(byte).collect();
                send(&mut sender, &memory, &carrier, &data);
                at += data.len() as u64;
                written.store(at, Ordering::Relaxed);
            }
            is_done.store(true, Ordering::Release);
        });
        while written.load(Ordering::Relaxed) < seed * 2 {
            std::hint::spin_loop();
        }
        let mut read = 0;
        // Before it is severed, too, it reads now and then.
        while !receiver.sever(side(&memory), carrier.lock().unwrap().len() as u64, false).unwrap() {
            if seed.is_multiple_of(2) {
                read += receive(&mut receiver, &memory, &carrier, read);
            }
        }
        while !is_done.load(Ordering::Acquire) || read < written.load(Ordering::Relaxed) {
            read += receive(&mut receiver, &memory, &carrier, read);
        }
    });
    // Bells may lie behind the last byte.
    while let Source::Bells(1..) = receiver.next(side(&memory)).unwrap() {
        assert_eq!(receive(&mut receiver, &memory, &carrier, u64::MAX), 0);
        assert!(receiver.bells(side(&memory)) == 0 || !carrier.lock().unwrap().is_empty());
    }
    assert_eq!(receiver.next(side(&memory)).unwrap(), Source::Carrier);
    assert!(carrier.lock().unwrap().is_empty());
}

/// Sends a message as a program does.
fn send(sender: &mut Sender, memory: &[AtomicU64], carrier: &Mutex<VecDeque<u8>>, data: &[u8]) {
    let side = side(memory);
    let mut rest = data;
    if sender.enter(side) {
        let pushed = sender.push(side, rest).unwrap();
        rest = &rest[pushed.bytes..];
        if pushed.wakes && sender.ring(side) {
            carrier.lock().unwrap().push_back(255);
        }
    }
    if sender.is_recalled(side) {
        sender.yield_back(side);
        let mut owed = vec![0; layout().ring_bytes()];
        let copied = sender.copy_owed(side, &mut owed);
        carrier.lock().unwrap().extend(&owed[..copied]);
        sender.repaid(side, copied);
    }
    if !rest.is_empty() {
        sender.leave(side);
        sender.begin();
        carrier.lock().unwrap().extend(rest);
        sender.wrote(rest.len());
    }
}

/// Receives some bytes, and checks them. Returns their number.
fn receive(receiver: &mut Receiver, memory: &[AtomicU64], carrier: &Mutex<VecDeque<u8>>, read: u64) -> u64 {
    let mut into = vec![0; 50];
    let got = match receiver.next(side(memory)).unwrap() {
        Source::Ring => receiver.take(side(memory), &mut into).unwrap(),
        Source::Bells(bells) => {
            let mut carrier = carrier.lock().unwrap();
            let here = (bells as usize).min(carrier.len());
            assert!(carrier.drain(..here).all(|byte| byte == 255));
            receiver.took(here);
            0
        }
        Source::Carrier => {
            let mut carrier = carrier.lock().unwrap();
            let seen = into.len().min(carrier.len());
            let got = receiver.data_among(side(memory), seen).unwrap();
            carrier.drain(..got).zip(&mut into).for_each(|(from, to)| *to = from);
            receiver.took(got);
            got
        }
    };
    into[..got].iter().zip(read..).for_each(|(found, at)| assert_eq!(*found, byte(at), "at {at}"));
    got as u64
}
