//! The checks of the model.

use super::circles::states_without_circles;
use super::participants::Role;
use super::state::{Connection, Flaw};
use stateright::{Checker, HasDiscoveries, Model};

/// Returns three participants. Two of them propose; one proposes a stack that the third can't run.
fn three() -> Vec<Role> {
    vec![
        Role { layers: &["x", "y", "z"], proposes: Some("y"), refuses: None },
        Role { layers: &["x", "y", "z"], proposes: Some("z"), refuses: None },
        Role { layers: &["x", "y"], proposes: None, refuses: None },
    ]
}

/// Returns two participants that propose.
fn two() -> Vec<Role> {
    vec![
        Role { layers: &["x", "y", "z"], proposes: Some("y"), refuses: Some("z") },
        Role { layers: &["x", "y", "z"], proposes: Some("z"), refuses: None },
    ]
}

/// Returns two participants with a common stack, and a participant that comes with a stack of its own.
fn strangers() -> Vec<Role> {
    vec![
        Role { layers: &["x", "z"], proposes: None, refuses: None },
        Role { layers: &["x", "z", "y"], proposes: Some("y"), refuses: None },
        Role { layers: &["z"], proposes: None, refuses: None },
    ]
}

fn connection(roles: Vec<Role>) -> Connection {
    Connection { roles, crashes: 0, suspicions: 0, losses: 0, time_runs_out: false, flaw: Flaw::Nothing }
}

/// Bound on the number of states, more than there are. A protocol that never comes to rest has more, and is
/// found out before memory runs out.
const MOST: usize = 2_000_000;

#[allow(clippy::print_stdout, reason = "how many states were visited is part of the result")]
fn holds(what: &str, connection: Connection) {
    let checker = connection.checker().threads(2).target_state_count(MOST).spawn_bfs().join();
    println!(
        "{what}: {} states, at most {} steps from the first",
        checker.unique_state_count(),
        checker.max_depth()
    );
    assert!(checker.state_count() < MOST, "{what}: there is no end of states");
    checker.assert_properties();
}

/// The two proposals may come at any time, and so may the two crashes.
#[test]
fn two_proposals_and_two_crashes_among_three() {
    holds("two crashes", Connection { crashes: 2, ..connection(three()) });
}

/// No schedule keeps an upgrade going forever, and no fair schedule leaves an upgrade half-done: all runs are
/// finite, and every upgrade that has begun has ended in each state in which no step is left.
#[test]
fn whatever_is_begun_comes_to_an_end() {
    for connection in [
        Connection { suspicions: 1, time_runs_out: true, ..connection(two()) },
        Connection { losses: 1, crashes: 2, ..connection(two()) },
        Connection { crashes: 1, ..connection(strangers()) },
    ] {
        every_run_ends(&connection);
    }
}

/// The two proposals may come at any time, and so may the two crashes.
#[test]
fn two_crashes_among_three_hold_nobody_up() {
    every_run_ends(&Connection { crashes: 2, ..connection(three()) });
}

#[allow(clippy::print_stdout, reason = "how many states were visited is part of the result")]
fn every_run_ends(connection: &Connection) {
    let states = states_without_circles(connection, MOST, |state| {
        assert!(!connection.is_at_rest(state) || connection.is_settled(state), "{state:?}");
    });
    println!("{states} states without a circle");
    assert!(states > 100);
}

/// A participant may be stopped for so long that it expires, and time may run out, at any moment.
#[test]
fn a_participant_that_is_taken_for_gone() {
    holds("suspicions", Connection { suspicions: 1, time_runs_out: true, ..connection(two()) });
}

/// An expiry happens while the third participant joins.
#[test]
fn a_suspicion_among_three() {
    let mut roles = three();
    roles[1].proposes = None;
    roles[0].refuses = Some("y");
    holds("a suspicion among three", Connection { suspicions: 1, ..connection(roles) });
}

/// Some requests leave unknown if they were carried out.
#[test]
fn lost_answers() {
    holds("losses", Connection { losses: 1, crashes: 1, ..connection(two()) });
    holds("losses of a stranger", Connection { losses: 1, ..connection(strangers()) });
}

/// A newcomer can't run the active stack, and proposes another.
#[test]
fn a_newcomer_with_a_stack_of_its_own() {
    holds("a stranger", Connection { crashes: 1, ..connection(strangers()) });
}

/// A participant activates every proposal at once, without waiting for others to stage it. The other
/// participants do not believe it, and none is made to switch.
#[test]
fn a_hasty_participant_forces_nobody() {
    let hasty = Connection { flaw: Flaw::OneIsHasty, crashes: 1, ..connection(three()) };
    let checker = hasty.checker().threads(2).spawn_bfs().join();
    checker.assert_no_discovery(SAFETY);
    checker.assert_any_discovery("an upgrade commits");
}

const SAFETY: &str = "nothing wrong happens";

const LIVENESS: &str = "whatever is begun comes to an end";

/// Checks that the model finds the fault that was put into the protocol: this tests the model itself.
fn fails(property: &'static str, connection: Connection) {
    let found = HasDiscoveries::AllOf([property].into());
    let checker = connection.checker().threads(2).finish_when(found).spawn_bfs().join();
    checker.assert_any_discovery(property);
}

#[test]
fn a_commit_without_consent_is_found() {
    fails(SAFETY, Connection { flaw: Flaw::ConsentIsPresumed, ..connection(two()) });
}

/// Two stacks never become active, since consent names the stack; but participants wait for a proposal that
/// was overwritten. A participant that waits for a crashed proposer waits forever.
#[test]
fn a_proposer_that_holds_all_up_is_found() {
    fails(LIVENESS, Connection { flaw: Flaw::OnlyTheProposerCommits, crashes: 1, ..connection(two()) });
}

#[test]
fn a_lost_update_of_the_record_is_found() {
    fails(LIVENESS, Connection { flaw: Flaw::RecordIsNotCompared, ..connection(three()) });
}
