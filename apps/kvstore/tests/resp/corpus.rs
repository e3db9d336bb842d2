//! The replay of everything that the fuzzer of commands found worth keeping, and of the seeds that it starts
//! from.

use crate::any_bytes::stream;
use bertha_tests::fuzz_targets::Archive;
use std::fs;
use std::path::Path;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fuzz/corpus");

/// Commands as clients send them, in pieces of some length, and texts that are nearly commands.
const SEEDS: [(&str, &[u8]); 9] = [
    ("set", b"\xff*5\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nvalue\r\n$2\r\nPX\r\n$4\r\n1000\r\n"),
    ("pipelined", b"\x03*2\r\n$3\r\nGET\r\n$1\r\na\r\n*2\r\n$4\r\nINCR\r\n$1\r\na\r\n*1\r\n$4\r\nPING\r\n"),
    ("several", b"\x07*3\r\n$4\r\nMGET\r\n$1\r\na\r\n$0\r\n\r\n*3\r\n$3\r\ndel\r\n$1\r\na\r\n$1\r\nb\r\n"),
    ("inline", b"\x00set key 41 nx ex 7\nincr key\r\nexpire key -1\r\nttl key\n  \n*0\r\nquit\n"),
    (
        "hello",
        b"\x10hello 3 setname me\r\nconfig get save *\r\nclient setinfo lib-name x\r\ncommand count\r\n",
    ),
    ("long", b"\xff*65536\r\n$16777216\r\n"),
    ("too-long", b"\x01ping\r\n*1\r\n$16777217\r\n"),
    ("malformed", b"\x05*1\r\n$3\r\nlong\r\nping\r\n"),
    ("cut", b"\x02*2\r\n$3\r\nGET\r\n$10\r\nabc"),
];

#[test]
fn every_input_holds() {
    let bytes = fs::read(format!("{CORPUS}/resp.tar")).unwrap();
    let mut count = 0;
    for (input, bytes) in Archive::new(&bytes) {
        println!("resp/{input}");
        stream(bytes);
        count += 1;
    }
    assert!(count > 0, "no corpus of resp");
}

#[test]
fn every_seed_holds() {
    for (seed, bytes) in SEEDS {
        println!("resp/seed-{seed}");
        stream(bytes);
    }
}

/// Writes the seeds beside the unpacked corpus, for `scripts/fuzz seed`.
#[test]
#[ignore = "writes into the corpus"]
fn write_seeds() {
    let folder = Path::new(CORPUS).join("resp");
    fs::create_dir_all(&folder).unwrap();
    for (seed, bytes) in SEEDS {
        fs::write(folder.join(format!("seed-{seed}")), bytes).unwrap();
    }
}
