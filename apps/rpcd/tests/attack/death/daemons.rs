//! Daemons that are killed at any moment.

use super::super::*;
use super::application;
use super::held::Held;
use super::ledger::Ledger;
use super::lines::Lines;
use bertha_tests::{seeds, with_seeds};
use std::net::TcpListener;

/// Each call has one outcome, which is true; an application is attached again without any code of its own, and when it has gone, it and the last
/// daemon hold what they did before.
#[test]
fn daemons_that_are_killed_are_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rpcd");
    let start = || Process::at(path.clone(), &[], None, None);
    let before = {
        let daemon = start();
        Held::at_rest(&daemon.child.id().to_string())
    };
    let mut child = application::start(&path, "own", "own");
    let lines = Lines::of(&mut child);
    let mut ledger = Ledger::default();
    println!("seeds {:?}", seeds(40));
    with_seeds(40, |seed| {
        let mut random = Random(seed);
        let daemon = start();
        wait_for_the_moment(&mut random, &lines, &mut ledger);
        drop(daemon);
    });
    lines.note(&mut ledger);
    let last = start();
    lines.wait_for("answered", &mut ledger);
    lines.end(child, &mut ledger);
    println!("{} calls were answered", ledger.check(|_| false));
    before.comes_again(&last.child.id().to_string());
}

/// Each call to the host of another daemon has one outcome, which is true, whichever of the two daemons is killed.
#[test]
fn either_daemon_of_two_that_is_killed_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let addr = format!("127.0.0.1:{port}");
    let route = format!("own={addr}");
    let options = [["--route", &route], ["--listen", &addr]];
    let paths = ["near", "far"].map(|name| folder.path().join(name));
    let start = |which: usize| Process::at(paths[which].clone(), &options[which], None, None);
    let before = [0, 1].map(|which| Held::at_rest(&start(which).child.id().to_string()));
    let mut daemons = [0, 1].map(|which| Some(start(which)));
    let [mut near, mut far] = [("none", "own"), ("own", "none")]
        .into_iter()
        .zip(&paths)
        .map(|((serves, calls), path)| application::start(path, serves, calls))
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    let (asking, serving) = (Lines::of(&mut near), Lines::of(&mut far));
    let mut ledger = Ledger::default();
    println!("seeds {:?}", seeds(20));
    with_seeds(20, |seed| {
        let mut random = Random(seed);
        wait_for_the_moment(&mut random, &asking, &mut ledger);
        serving.note(&mut ledger);
        let which = random.below(2) as usize;
        drop(daemons[which].take());
        daemons[which] = Some(start(which));
    });
    asking.wait_for("answered", &mut ledger);
    asking.end(near, &mut ledger);
    serving.end(far, &mut ledger);
    println!("{} calls were answered", ledger.check(|_| false));
    for (before, daemon) in before.into_iter().zip(daemons.iter().flatten()) {
        before.comes_again_with(1, &daemon.child.id().to_string());
    }
}

/// Waits for the moment of a kill: half of the daemons die while applications attach, and half amid calls.
fn wait_for_the_moment(random: &mut Random, lines: &Lines, ledger: &mut Ledger) {
    lines.note(ledger);
    if random.below(2) == 0 {
        lines.wait_for("answered", ledger);
        std::thread::sleep(Duration::from_micros(random.below(15_000)));
    } else {
        std::thread::sleep(Duration::from_micros(random.below(60_000)));
    }
}
