//! A receiver that asks for the stream back, and a sender that answers late or never.

use super::pair::{byte, layout, memory, side};
use super::{Pair, Receiver, Sender, Source, steps, take};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A receiver that has no answer reads on, and one whose sender has closed or died, too.
    #[test]
    fn a_question_without_an_answer_loses_nothing(
        before in steps(),
        reads in prop::collection::vec(1..2000_usize, 0..20),
        end in 0..3,
        after in steps(),
    ) {
        let mut pair = Pair::new();
        before.into_iter().for_each(|step| take(&mut pair, step));
        pair.ask();
        for most in reads {
            pair.peek();
            pair.read(most, |_| ());
        }
        match end {
            0 => {}
            1 => pair.close(),
            _ => after.into_iter().for_each(|step| take(&mut pair, step)),
        }
        pair.peek();
        pair.read_all();
        prop_assert_eq!(pair.read, pair.written);
    }
}

/// Bytes come once, wherever the question for the stream meets its answer.
#[test]
fn a_question_and_its_answer_agree_in_two_threads() {
    (0..400).step_by(4).for_each(meet);
}

/// Has a receiver ask while it reads the ring in pieces, and a sender answer at some moment.
fn meet(seed: u64) {
    const BYTES: u64 = 2000;
    let memory = memory();
    let carrier = Mutex::new(VecDeque::new());
    let mut receiver = Receiver::new(side(&memory), 0);
    receiver.attach(side(&memory));
    let mut sender = Sender::new(0);
    assert!(sender.enter(side(&memory)));
    let data: Vec<_> = (0..BYTES).map(byte).collect();
    assert_eq!(sender.push(side(&memory), &data).unwrap().bytes, data.len());
    let taken = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while taken.load(Ordering::Relaxed) < seed * 5 {
                std::thread::yield_now();
            }
            sender.yield_back(side(&memory));
            let mut into = vec![0; layout().ring_bytes()];
            let copied = sender.copy_owed(side(&memory), &mut into);
            carrier.lock().unwrap().extend(&into[..copied]);
            sender.repaid(side(&memory), copied);
        });
        let (mut read, mut into) = (0_u64, vec![0; 1 + seed as usize % 7]);
        receiver.recall(side(&memory));
        while read < BYTES {
            let got = match receiver.next(side(&memory)).unwrap() {
                Source::Ring => receiver.take(side(&memory), &mut into).unwrap(),
                Source::Bells(_) => 0,
                Source::Carrier => {
                    let mut carrier = carrier.lock().unwrap();
                    let got = into.len().min(carrier.len());
                    carrier.drain(..got).zip(&mut into).for_each(|(from, to)| *to = from);
                    receiver.took(got);
                    got
                }
            };
            into[..got].iter().zip(read..).for_each(|(found, at)| assert_eq!(*found, byte(at), "at {at}"));
            read += got as u64;
            taken.store(read, Ordering::Relaxed);
        }
    });
    assert_eq!(receiver.next(side(&memory)).unwrap(), Source::Carrier);
    assert!(carrier.lock().unwrap().is_empty());
}
