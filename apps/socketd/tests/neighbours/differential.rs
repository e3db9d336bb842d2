//! Random programs of socket calls, with the same results on kernel sockets and on those that share memory.

use crate::machine::{Machine, library};
use bertha_sockets_differential::compare::compare;
use bertha_sockets_differential::hardships::Hardships;
use bertha_sockets_differential::player::Player;
use bertha_sockets_differential::program::Program;

/// The words before a program that has it share memory from the first message of a connection on.
fn behind(machine: &Machine) -> Vec<String> {
    vec![
        "env".to_owned(),
        format!("LD_PRELOAD={}", library().display()),
        format!("BERTHA_SOCKETS={}", machine.socket().display()),
        "BERTHA_SOCKETS_EAGER=1".to_owned(),
    ]
}

/// Plays the programs of these seeds, whose connections pay with their first message. Returns the number of runs that had rings.
fn play(seeds: impl IntoIterator<Item = u64>, setting: Option<&str>) -> u64 {
    let (machine, player) = (Machine::start(), Player::build().unwrap());
    let mut behind = behind(&machine);
    behind.extend(setting.map(str::to_owned));
    for seed in seeds {
        let difference = compare(&player, &Program::of_seed(seed), &behind).unwrap();
        assert!(difference.is_none(), "seed {seed}: {}", difference.unwrap());
    }
    player.rings().unwrap()
}

/// Programs whose sockets go back to the kernel while their other ends are closed, or do something else.
const AFTERWARDS: [u64; 8] = [96, 97, 102, 117, 154, 187, 283, 284];

/// Programs that start others while bytes lie in the ring of a busy end.
const HANDED: [u64; 2] = [84, 136];

#[test]
fn programs_say_the_same_with_rings() {
    assert!(play((1..=80).chain(AFTERWARDS).chain(HANDED), None) > 40);
}

/// Streams go back to the kernel with every third write, and into the ring again.
#[test]
fn programs_say_the_same_while_streams_move() {
    assert!(play((1..=40).chain(AFTERWARDS), Some("BERTHA_SOCKETS_MOVES=3")) > 25);
}

/// Signals and other threads in the midst of calls, children, kills, and a lack of descriptors.
#[test]
fn hardships_are_borne_with_rings() {
    let (machine, hardships) = (Machine::start(), Hardships::build().unwrap());
    let behind = behind(&machine);
    for name in hardships.names().unwrap() {
        let lines = hardships.play(&name, &behind).unwrap().lines;
        assert!(!lines.is_empty() && lines.iter().all(|line| line.ends_with(": right")), "{name}: {lines:?}");
    }
}
