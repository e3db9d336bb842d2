//! What is checked.

use super::participants::Role;
use super::state::{Connection, Flaw};
use stateright::{Checker, Model};

/// Three participants, of whom two propose, one of them a stack that the third can't run.
fn three() -> Vec<Role> {
    vec![
        Role { layers: &["x", "y", "z"], proposes: Some("y"), refuses: None },
        Role { layers: &["x", "y", "z"], proposes: Some("z"), refuses: None },
        Role { layers: &["x", "y"], proposes: None, refuses: None },
    ]
}

fn connection(roles: Vec<Role>) -> Connection {
    Connection { roles, crashes: 0, suspicions: 0, losses: 0, time_runs_out: false, flaw: Flaw::Nothing }
}

#[allow(clippy::print_stdout, reason = "how many states were visited is part of the result")]
fn holds(what: &str, connection: Connection) {
    let checker = connection.checker().threads(2).spawn_bfs().join();
    println!(
        "{what}: {} states, at most {} steps from the first",
        checker.unique_state_count(),
        checker.max_depth()
    );
    checker.assert_properties();
}

#[test]
fn two_proposals_and_two_crashes_among_three() {
    holds("crashes", Connection { crashes: 2, ..connection(three()) });
}
