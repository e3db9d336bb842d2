//! Random programs of socket calls, with the same results on kernel sockets and on those that share memory.

use crate::machine::{Machine, library};
use crate::needs::number;
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

/// Plays programs, whose connections pay with their first message, and whose streams move with every so many writes if they are to. Most of
/// the runs have to have rings, since equal results of kernel sockets alone prove nothing.
fn play(seeds: &[u64], program: impl Fn(u64) -> Program, moves: impl Fn(u64) -> Option<u64>) {
    let (machine, player) = (Machine::start(), Player::build().unwrap());
    let mut differences = String::new();
    for seed in seeds {
        let mut behind = behind(&machine);
        behind.extend(moves(*seed).map(|moves| format!("BERTHA_SOCKETS_MOVES={moves}")));
        let difference = compare(&player, &program(*seed), &behind).unwrap();
        if let Some(difference) = difference {
            differences += &format!("BERTHA_FIRST_SEED={seed}: {difference}\n");
        }
    }
    assert!(differences.is_empty(), "{differences}");
    let (rings, runs) = (player.rings().unwrap(), seeds.len() as u64);
    // A seed that is played again need not be one of them.
    assert!(rings * 2 > runs || runs < 20, "{rings} of {runs} runs had rings");
}

/// Returns the seeds of a night, or of a short run.
fn seeds(short: impl Iterator<Item = u64>) -> Vec<u64> {
    let first = number("BERTHA_FIRST_SEED", 1);
    match number("BERTHA_SEEDS", 0) {
        0 => short.collect(),
        count => (first..first + count).collect(),
    }
}

/// Programs whose sockets go back to the kernel while their other ends are closed, or do something else.
const AFTERWARDS: [u64; 8] = [96, 97, 102, 117, 154, 187, 283, 284];

/// Programs that start others while bytes lie in the ring of a busy end.
const HANDED: [u64; 2] = [84, 136];

#[test]
fn programs_say_the_same_with_rings() {
    play(&seeds((1..=80).chain(AFTERWARDS).chain(HANDED)), Program::of_seed, |_| None);
}

/// Streams go back to the kernel with every write, or every third or so, and into the ring again.
#[test]
fn programs_say_the_same_while_streams_move() {
    let every = [3, 1, 2, 5];
    play(&seeds((1..=40).chain(AFTERWARDS)), Program::of_seed, |seed| {
        Some(every[seed as usize % every.len()])
    });
}

/// Either end has its streams back before any call, also while they move.
#[test]
fn programs_say_the_same_while_ends_take_streams_back() {
    let program = |seed| Program::of_seed(seed).with_returns(seed);
    play(&seeds(1..=40), program, |seed| (seed % 2 == 0).then_some(2));
}

/// Hardships that have no connection of their own that is worth a ring.
const WITHOUT: [&str; 1] = ["lists-of-arguments"];

/// Signals and other threads in the midst of calls, children, kills, and a lack of descriptors.
#[test]
fn hardships_are_borne_with_rings() {
    let (machine, hardships) = (Machine::start(), Hardships::build().unwrap());
    let behind = behind(&machine);
    for name in hardships.names().unwrap() {
        let before = hardships.rings().unwrap();
        let lines = hardships.play(&name, &behind).unwrap().lines;
        assert!(!lines.is_empty() && lines.iter().all(|line| line.ends_with(": right")), "{name}: {lines:?}");
        let has_ring = hardships.rings().unwrap() > before;
        assert_eq!(has_ring, !WITHOUT.contains(&&*name), "{name}");
    }
}
