//! The replay of all that the fuzzer of the functions of C found worth keeping, and of the seeds that it starts from.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests panic to fail")]

mod any_arguments;

use any_arguments::calls;
use std::fs;
use std::path::Path;
use std::process::Command;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fuzz/corpus");

/// Calls in an order in which programs make them, and others. A byte is a function or an argument: see `any_arguments.rs`.
const SEEDS: [(&str, &[u8]); 5] = [
    // Listens, connects to it, accepts, sends, receives, closes, over TCP.
    (
        "connection",
        &[
            5, 4, 4, 4, 1, 4, 2, 4, 3, 4, 1, 0, 4, 7, 8, 3, 4, 8, 1, 1, 9, 0, 9, 1, 3, 10, 0, 17, 9, 3, 40,
            8, 40, 9,
        ],
    ),
    // Serves with a callback, makes a client and calls, in two ways.
    (
        "calls",
        &[
            33, 4, 1, 1, 0, 0, 1, 4, 1, 4, 27, 4, 3, 4, 1, 3, 4, 28, 1, 1, 4, 1, 1, 4, 0, 1, 0, 0, 0, 9, 4,
            29, 1, 1, 4, 1, 1, 4, 0, 1, 1, 1, 0, 9, 4, 31, 1, 1, 10, 0, 32, 10, 30, 10, 3, 4,
        ],
    ),
    // Serves without one, and takes and fails a call.
    (
        "accepted",
        &[
            33, 4, 1, 1, 1, 2, 1, 4, 1, 4, 27, 4, 3, 4, 1, 3, 4, 29, 1, 1, 4, 1, 1, 4, 2, 1, 1, 0, 0, 9, 4,
            7, 8, 3, 4, 35, 11, 4, 36, 1, 3, 11, 4, 38, 23, 11, 4, 37, 1, 1, 11, 40, 8,
        ],
    ),
    ("options", &[0, 4, 1, 3, 4, 8, 1, 2, 4, 8, 1, 4, 3, 8, 0, 0, 0, 1, 40, 8, 40, 8]),
    (
        "none",
        &[
            2, 0, 0, 0, 0, 4, 3, 1, 1, 1, 4, 1, 5, 2, 2, 1, 1, 2, 3, 65, 8, 0, 4, 2, 5, 9, 0, 1, 4, 14, 255,
            4, 2, 26,
        ],
    ),
];

#[test]
fn any_arguments_are_codes() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Path::new(CORPUS).join("bindings.tar");
    let unpacked = Command::new("tar").arg("-xf").arg(archive).arg("-C").arg(folder.path()).status();
    assert!(unpacked.unwrap().success());
    let mut inputs = 0;
    for file in fs::read_dir(folder.path()).unwrap() {
        calls(&fs::read(file.unwrap().path()).unwrap());
        inputs += 1;
    }
    assert!(inputs >= SEEDS.len());
    for (_, seed) in SEEDS {
        calls(seed);
    }
}

/// Bytes of a generator that is the same for all runs reach what the seeds do not.
#[test]
fn arguments_of_chance_are_codes() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..300 {
        let mut bytes = [0; 200];
        for byte in &mut bytes {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = (state >> 56) as u8;
        }
        calls(&bytes);
    }
}

/// Writes the seeds beside the inputs that `scripts/fuzz seed` has unpacked.
#[test]
#[ignore = "scripts/fuzz seed calls it"]
fn write_seeds() {
    let folder = Path::new(CORPUS).join("bindings");
    fs::create_dir_all(&folder).unwrap();
    for (name, seed) in SEEDS {
        fs::write(folder.join(name), seed).unwrap();
    }
}
