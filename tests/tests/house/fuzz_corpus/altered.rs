//! Inputs of the corpora with some bytes changed as a fuzzer changes them, but without measuring which code
//! they reach.

use super::CORPUS;
use bertha_tests::fuzz_targets::{Archive, TARGETS};
use bertha_tests::with_seeds;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::fs;

/// Number of bytes of the longest input, as for the fuzzers.
const LONGEST: usize = 4096;

/// Numbers at which parsers behave differently.
const EDGES: [u8; 8] = [0, 1, 0x7f, 0x80, 0xfe, 0xff, b'\r', b'\n'];

/// Changes one place of the input: a bit, a byte, or a run of bytes, which is removed, repeated, or taken
/// from another input.
fn alter(random: &mut StdRng, bytes: &mut Vec<u8>, other: &[u8]) {
    let at = random.random_range(0..=bytes.len());
    let end = (at + random.random_range(1..=16)).min(bytes.len());
    match random.random_range(0..6_u32) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.random_range(0..8),
        1 if at < bytes.len() => bytes[at] = EDGES[random.random_range(0..EDGES.len())],
        2 => drop(bytes.drain(at..end)),
        3 => bytes.truncate(at),
        4 => {
            let twice = bytes[at..end].to_vec();
            bytes.splice(at..at, twice);
        }
        _ if !other.is_empty() => {
            let from = random.random_range(0..other.len());
            let to = (from + random.random_range(1..=64)).min(other.len());
            bytes.splice(at..at, other[from..to].iter().copied());
        }
        _ => {}
    }
    bytes.truncate(LONGEST);
}

#[test]
fn altered_inputs_hold() {
    for &(name, target) in TARGETS {
        let archive = fs::read(format!("{CORPUS}/{name}.tar")).unwrap();
        let inputs: Vec<_> = Archive::new(&archive).map(|(_, bytes)| bytes).collect();
        with_seeds(100, |seed| {
            let mut random = StdRng::seed_from_u64(seed);
            let mut pick = || inputs[random.random_range(0..inputs.len())];
            let (mut bytes, other) = (pick().to_vec(), pick());
            for _ in 0..random.random_range(1..8) {
                alter(&mut random, &mut bytes, other);
            }
            println!("{name}, seed {seed}: {}", hex(&bytes));
            target(&bytes);
        });
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
