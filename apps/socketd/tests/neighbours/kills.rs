//! Either end of a connection is killed at any moment.

use crate::machine::{Machine, Program, script};
use crate::needs::{PYTHON, has_python, number};
use std::process::Command;

/// Kills ends, and returns how many connections had rings.
fn kill(mut command: Command, kills: u64, seed: &str) -> u64 {
    command.args([&kills.to_string(), seed]);
    let mut program = Program::start(command);
    let line = program.line();
    let rings = line.strip_prefix(&format!("done {kills} "));
    rings.unwrap_or_else(|| panic!("it says {line:?}")).parse().unwrap()
}

/// What is expected of rings is what TCP shows.
#[test]
fn the_kernel_shows_of_killed_ends_what_is_expected() {
    if !has_python() {
        return;
    }
    let mut command = Command::new(PYTHON);
    command.arg(script("kills.py"));
    assert_eq!(kill(command, number("SOCKETS_KILLS", 80) / 4, "1"), 0);
}

/// Writers, readers, ends with bytes unread, and silent ones: what their calls have sent comes, and then what TCP would have shown.
#[test]
fn an_end_that_is_killed_at_any_moment_shows_what_tcp_would_have_shown() {
    if !has_python() {
        return;
    }
    let kills = number("SOCKETS_KILLS", 80) / 2;
    for (moves, seed) in [(None, "2"), (Some("3"), "3")] {
        let machine = Machine::start();
        let mut command = machine.script("kills.py", &[]);
        if let Some(moves) = moves {
            command.env("BERTHA_SOCKETS_MOVES", moves);
        }
        let rings = kill(command, kills, seed);
        assert!(rings * 10 >= kills * 9, "{rings} of {kills} connections had rings");
    }
}
