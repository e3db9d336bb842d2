//! The checks of the model.

use super::state::{Flaw, Server, World};
use stateright::{Checker, Model};

const SAFETY: [&str; 5] = [
    "nothing wrong happens",
    "nothing is lost",
    "who has agreed stands on one stack",
    "what arrives is heard",
    "what is heard was said over the same stack",
];

fn world(server: Server) -> World {
    World {
        messages: 3,
        flight: 2,
        repeats: 2,
        waits: 1,
        closes: 1,
        speaks: false,
        server,
        restarts_as: None,
        flaw: Flaw::Nothing,
    }
}

#[allow(clippy::print_stdout, reason = "how many states were visited is part of the result")]
fn holds(world: World, reached: &[&'static str], unreached: &[&'static str]) {
    let what = format!("{:?}", world.server);
    let checker = world.checker().threads(2).spawn_bfs().join();
    println!("{what}: {} states, {} steps at most", checker.unique_state_count(), checker.max_depth());
    SAFETY.iter().chain(unreached).for_each(|property| checker.assert_no_discovery(property));
    reached.iter().for_each(|property| drop(checker.assert_any_discovery(property)));
}

#[test]
fn a_server_as_expected() {
    let reached = ["all is received", "messages are taken early", "the server refuses"];
    holds(world(Server::AsExpected), &reached, &["the stack is replaced"]);
}

#[test]
fn a_server_with_another_stack() {
    let reached = ["all is received", "the stack is replaced"];
    holds(world(Server::Changed), &reached, &["messages are taken early"]);
}

#[test]
fn a_server_that_takes_nothing_early() {
    holds(
        world(Server::Strict),
        &["all is received"],
        &["messages are taken early", "the stack is replaced"],
    );
}

#[test]
fn a_server_that_refuses() {
    holds(world(Server::Stranger), &["the server refuses"], &["all is received", "messages are taken early"]);
}

/// The flight may be in both lives, but each life receives it once, and the client agrees with the second
/// life.
#[test]
fn a_server_that_restarts() {
    for (before, after) in [
        (Server::AsExpected, Server::AsExpected),
        (Server::AsExpected, Server::Changed),
        (Server::Changed, Server::AsExpected),
    ] {
        let world = World { messages: 2, closes: 0, restarts_as: Some(after), ..world(before) };
        // The tickets from before the restart are invalid at the server after it.
        match before {
            Server::AsExpected => holds(world, &["all is received", "messages are taken early"], &[]),
            _ => holds(world, &["all is received"], &["messages are taken early"]),
        }
    }
}

fn speaking(server: Server) -> World {
    World { messages: 2, waits: 0, speaks: true, ..world(server) }
}

#[test]
fn a_server_that_says_something_with_its_answer() {
    let reached = ["all is received", "messages are taken early", "an answer comes with data"];
    holds(speaking(Server::AsExpected), &reached, &["the stack is replaced"]);
}

/// No message was taken early, so the answer does not wait.
#[test]
fn a_server_that_says_something_over_another_stack() {
    let reached = ["all is received", "the stack is replaced"];
    holds(speaking(Server::Changed), &reached, &["an answer comes with data"]);
}

/// Checks that the model finds a fault of the protocol: this tests the model itself.
fn fails(world: World, property: &'static str) {
    world.checker().threads(2).spawn_bfs().join().assert_any_discovery(property);
}

#[test]
fn a_server_without_memory_is_found() {
    fails(World { flaw: Flaw::NoMemory, ..world(Server::AsExpected) }, "nothing wrong happens");
}

#[test]
fn a_client_that_sends_again_what_was_taken_is_found() {
    fails(World { flaw: Flaw::SendsAllAgain, ..world(Server::AsExpected) }, "nothing wrong happens");
}

#[test]
fn a_claim_that_is_not_compared_is_found() {
    fails(World { flaw: Flaw::ClaimIsNotCompared, ..world(Server::Changed) }, "nothing wrong happens");
}

#[test]
fn a_client_that_leaves_what_came_with_the_answer_is_found() {
    fails(World { flaw: Flaw::LeavesTheData, ..speaking(Server::AsExpected) }, "what arrives is heard");
}
