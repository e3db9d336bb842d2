//! Replays every input that the fuzzers of `fuzz/` have kept, and the seeds from which the fuzzers start.

mod altered;
mod seeds;

use bertha_tests::fuzz_targets::{Archive, TARGETS};
use std::fs;
use std::path::Path;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus");

#[test]
fn every_input_holds() {
    for &(name, target) in TARGETS {
        let bytes = fs::read(format!("{CORPUS}/{name}.tar")).unwrap();
        let mut count = 0;
        for (input, bytes) in Archive::new(&bytes) {
            println!("{name}/{input}");
            target(bytes);
            count += 1;
        }
        assert!(count > 0, "no corpus of {name}");
    }
}

#[test]
fn every_seed_holds() {
    for &(name, target) in TARGETS {
        let seeds = seeds::of(name);
        assert!(!seeds.is_empty(), "no seed of {name}");
        for (seed, bytes) in seeds {
            println!("{name}/seed-{seed}");
            target(&bytes);
        }
    }
}

#[test]
fn short_and_repetitive_inputs_hold() {
    for &(_, target) in TARGETS {
        for byte in 0..=255 {
            for len in [0, 1, 2, 3, 4, 5, 9, 600, 9000] {
                target(&vec![byte; len]);
            }
        }
    }
}

/// Writes the seeds beside the unpacked corpora, for `scripts/fuzz seed`.
#[test]
#[ignore = "writes into the corpora"]
fn write_seeds() {
    for &(name, _) in TARGETS {
        let folder = Path::new(CORPUS).join(name);
        fs::create_dir_all(&folder).unwrap();
        for (seed, bytes) in seeds::of(name) {
            fs::write(folder.join(format!("seed-{seed}")), bytes).unwrap();
        }
    }
}
