//! The differential test of sockets: its programs depend on nothing but their seeds, and it finds a socket
//! that behaves otherwise.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used)]

use bertha_sockets_differential::compare::{compare, shrink};
use bertha_sockets_differential::hardships::Hardships;
use bertha_sockets_differential::player::Player;
use bertha_sockets_differential::program::Program;
use std::process::Command;

#[test]
fn programs_say_the_same_on_kernel_sockets_again() {
    let player = Player::build().unwrap();
    for seed in 1..=40 {
        let difference = compare(&player, &Program::of_seed(seed), &[]).unwrap();
        assert!(difference.is_none(), "seed {seed}: {}", difference.unwrap());
    }
}

#[test]
fn programs_are_those_of_their_seeds() {
    assert_eq!(Program::of_seed(7), Program::of_seed(7));
    assert_ne!(Program::of_seed(7), Program::of_seed(8));
}

/// The library peeks at one byte too few, as a ring might where a stream moves.
#[test]
fn a_socket_that_behaves_otherwise_is_found_and_the_program_made_short() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libwrong.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wrong.c");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).status();
    assert!(built.unwrap().success());
    let behind = ["env".to_owned(), format!("LD_PRELOAD={}", library.display())];
    let player = Player::build().unwrap();
    let found = (1..=40)
        .find_map(|seed| compare(&player, &Program::of_seed(seed), &behind).unwrap())
        .expect("one of the programs calls recv often enough");
    let whole = found.program.steps.len();
    let short = shrink(&player, found, &behind).unwrap();
    assert!(short.program.steps.len() < whole && short.expected != short.found, "{short}");
}

#[test]
fn kernel_sockets_bear_all_hardships() {
    let hardships = Hardships::build().unwrap();
    let names = hardships.names().unwrap();
    assert!(names.len() >= 10);
    for name in names {
        let lines = hardships.play(&name, &[]).unwrap().lines;
        assert!(!lines.is_empty() && lines.iter().all(|line| line.ends_with(": right")), "{name}: {lines:?}");
    }
    assert_eq!(hardships.rings().unwrap(), 0, "nothing but sockets of the kernel is there");
}
