//! The ring in shared memory, whose every word the peer may write at any time.

use bertha_datapath_shm::ring::{Consumer, Direction, Layout, Producer};
use std::sync::atomic::{AtomicU64, Ordering};

/// Length of the longest message of a ring of 4 KiB.
const LONGEST: usize = 504;

/// Runs steps of three bytes each: an action, a place, and a value. Whatever is written into the memory,
/// messages have at most the longest length, and both ends go on or report that the peer broke the rules.
pub fn ring(bytes: &[u8]) {
    let Some(layout) = Layout::new(4096) else { panic!("a power of two") };
    let memory: Vec<_> = (0..layout.memory_bytes() / 8).map(|_| AtomicU64::new(0)).collect();
    let ring = layout.ring(&memory, Direction::FromClient);
    let (mut producer, mut consumer) = (Producer::default(), Consumer::new(layout.longest()));
    for step in bytes.chunks_exact(3) {
        let [what, place, value] = [step[0], step[1], step[2]].map(usize::from);
        match what % 8 {
            0 => drop(producer.push(ring, &[value as u8; LONGEST][..(place * 2).min(LONGEST)])),
            1 => drop(producer.publish(ring)),
            2 => producer.await_room(ring),
            3 => match consumer.pop(ring) {
                Ok(message) => assert!(message.is_none_or(|message| message.len() <= LONGEST)),
                Err(broken) => assert!(!broken.to_string().is_empty()),
            },
            4 => drop(consumer.release(ring, value % 2 == 0)),
            5 => Consumer::fall_asleep(ring),
            // The peer writes: into the control words, and into the data.
            6 => memory[place % 64].store(extreme(value), Ordering::Relaxed),
            _ => memory[512 + (place * 256 + value) % 512].store(extreme(value), Ordering::Relaxed),
        }
    }
}

/// Returns a number around which code goes wrong.
fn extreme(value: usize) -> u64 {
    let near =
        [0, 1, 504, 505, 506, 511, 512, 513, 1024, 4096, 1 << 31, 1 << 32, 1 << 63, u64::MAX - 8, u64::MAX];
    let base = near.get(value / 16).copied().unwrap_or(64);
    base.wrapping_add(value as u64 % 16)
}

/// Returns seeds: a queue that is filled and emptied, with each kind of interference in between.
pub fn ring_seeds() -> Vec<Vec<u8>> {
    let honest: Vec<u8> =
        (0..40).flat_map(|at| [[0, at * 6, at], [1, 0, 0], [3, 0, 0], [4, 0, 1]]).flatten().collect();
    let full: Vec<u8> = (0..40).flat_map(|_| [[0, 255, 7], [1, 0, 0], [2, 0, 0]]).flatten().collect();
    let drained: Vec<u8> = (0..40).flat_map(|_| [[3, 0, 0], [4, 0, 0], [5, 0, 0]]).flatten().collect();
    let interferences = (0..=255).step_by(5).map(|value| [6, 0, value, 7, 0, value, 7, 1, value, 0, 255, 1]);
    let mut seeds = vec![honest, [&full[..], &drained[..]].concat()];
    seeds.extend(interferences.map(|steps| [&full[..60], &steps[..], &full[..60], &drained[..]].concat()));
    seeds
}
