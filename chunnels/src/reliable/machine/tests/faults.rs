//! Every message arrives once, over a wire with all faults.

use super::*;

/// Returns the number of seeds: a quarter of a minute on one core. `RELIABLE_SEEDS` sets another number.
fn seeds() -> u64 {
    std::env::var("RELIABLE_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(10_000)
}

const MESSAGES: u64 = 40;

#[test]
fn every_message_arrives_once_over_a_wire_that_does_its_worst() {
    let faults = Faults { loss: 30, duplication: 30, reordering: 30, corruption: 10 };
    for seed in 0..seeds() {
        let run = std::panic::catch_unwind(|| transfer(seed, faults));
        assert!(run.is_ok(), "seed {seed}");
    }
}

/// Checks the bounds that `Reliable::buffer` documents.
fn check_memory(end: &Machine) {
    for (messages, bytes) in [end.outgoing.kept(), end.incoming.kept()] {
        assert!(
            messages <= settings().messages && bytes <= settings().bytes,
            "{messages} messages, {bytes} bytes"
        );
    }
    assert!(end.recovery.records() <= super::super::recovery::MAX_RECORDS);
}

/// Both ends send at once, and close when they have received everything.
fn transfer(seed: u64, faults: Faults) {
    let mut wire = Wire::new(seed, faults);
    let mut sent = [0; 2];
    let mut got = [vec![false; MESSAGES as usize], vec![false; MESSAGES as usize]];
    while got.iter().flatten().any(|got| !got) {
        for end in 0..2 {
            while sent[end] < MESSAGES {
                let len = (wire.roll() % 1300) as usize;
                if !wire.ends[end].has_capacity(len).unwrap() {
                    break;
                }
                wire.ends[end].send(message(sent[end], len));
                sent[end] += 1;
            }
            loop {
                match wire.ends[end].receive() {
                    Received::Message(message) => {
                        let number = number(&message) as usize;
                        assert!(!got[end][number], "message {number} came twice");
                        got[end][number] = true;
                    }
                    Received::Nothing => break,
                    Received::End(error) => panic!("{error} at {:?}", wire.now),
                }
            }
        }
        wire.ends.iter().for_each(check_memory);
        assert!(wire.step(wire.now + Duration::from_secs(60)), "nothing more happens");
        assert!(wire.now < Duration::from_secs(3600), "an hour passed");
    }
    wire.ends[0].close();
    wire.run_until(|ends| ends[0].closed().is_some());
    assert!(wire.ends[0].closed().unwrap().is_ok());
}
