//! Daemons that are killed at any moment.

use super::super::*;
use super::application;
use super::held::Held;
use super::ledger::Ledger;
use bertha_tests::{seeds, with_seeds};
use std::io::{BufRead, BufReader};
use std::sync::mpsc;

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
    let output = BufReader::new(child.stdout.take().unwrap());
    let (sender, lines) = mpsc::channel();
    let reading = std::thread::spawn(move || {
        output.lines().map(Result::unwrap).for_each(|line| sender.send(line).unwrap());
    });
    let mut ledger = Ledger::default();
    println!("seeds {:?}", seeds(40));
    with_seeds(40, |seed| {
        let mut random = Random(seed);
        let daemon = start();
        lines.try_iter().for_each(|line| ledger.note(&line));
        // Half of the daemons die while applications attach, and half amid calls.
        if random.below(2) == 0 {
            wait_for("answered", &lines, &mut ledger);
            std::thread::sleep(Duration::from_micros(random.below(15_000)));
        } else {
            std::thread::sleep(Duration::from_micros(random.below(60_000)));
        }
        drop(daemon);
    });
    lines.try_iter().for_each(|line| ledger.note(&line));
    let last = start();
    wait_for("answered", &lines, &mut ledger);
    drop(child.stdin.take());
    wait_for("left", &lines, &mut ledger);
    assert!(child.wait().unwrap().success());
    reading.join().unwrap();
    println!("{} calls were answered", ledger.check(|_| false));
    before.comes_again(&last.child.id().to_string());
}

/// Notes lines until one ends with this word.
fn wait_for(word: &str, lines: &mpsc::Receiver<String>, ledger: &mut Ledger) {
    // An application tells of calls that fail, too, without end.
    let until = Instant::now() + SOON;
    loop {
        let line = lines.recv_timeout(SOON).unwrap();
        ledger.note(&line);
        if line.ends_with(word) {
            return;
        }
        assert!(Instant::now() < until, "no line ends with {word}");
    }
}
