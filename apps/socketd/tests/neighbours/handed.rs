//! Sockets that go to other programs while bytes lie in their rings, and whose other ends are busy, have closed, or have died.

use crate::machine::{Machine, Program};
use crate::needs::has_python;

/// Starts both ends, and has the client send bytes that stay in the ring.
fn begin(machine: &Machine, server: &[&str], client: &str, moves: bool) -> (Program, Program) {
    let mut server = machine.python(server, moves);
    let port = server.line();
    let mut client = machine.python(&[client, &port], moves);
    client.begin(machine, 2);
    client.expect("sent");
    assert_eq!(machine.moved().len(), 2);
    server.go_on();
    (server, client)
}

/// A program that takes the place of another gets all bytes, and the connection goes on, whether it knows of the library or not.
#[test]
fn the_next_program_gets_what_a_busy_end_has_sent() {
    if !has_python() {
        return;
    }
    for (environment, moves) in [("bare", false), ("whole", false), ("bare", true)] {
        let machine = Machine::start();
        let (mut server, mut client) = begin(&machine, &["gives", environment], "busy", moves);
        server.expect("answered");
        server.expect("new");
        client.expect("done");
        // A stream that moves may be on its carrier just then, and needs no relay.
        let is_relayed = machine.list().iter().any(|line| line[3] == "relay");
        assert!(is_relayed || moves, "{:?}", machine.list());
        client.go_on();
        client.expect("ended");
        server.expect("ended");
    }
}

#[test]
fn the_next_program_gets_what_a_killed_end_has_sent() {
    if !has_python() {
        return;
    }
    let machine = Machine::start();
    let (mut server, client) = begin(&machine, &["gives", "bare"], "busy", false);
    // One that is dead before gets no answer, and the program hears of that.
    server.expect("answered");
    drop(client);
    server.expect("new");
    server.expect("ended early");
}

/// A process of several threads yields a descriptor, in a message or by an action of `posix_spawn`.
#[test]
fn who_is_given_the_socket_gets_what_a_killed_end_has_sent() {
    if !has_python() {
        return;
    }
    for how in ["message", "actions"] {
        let machine = Machine::start();
        let (mut server, client) = begin(&machine, &["yields", how], "busy", false);
        server.expect("answered");
        drop(client);
        server.expect("new");
        server.expect("ended early");
    }
}

/// Without a daemon, the stream has an end rather than wrong bytes.
#[test]
fn without_a_daemon_the_next_program_has_a_reset() {
    if !has_python() {
        return;
    }
    let mut machine = Machine::start();
    let mut server = machine.python(&["gives", "bare"], false);
    let port = server.line();
    let mut client = machine.python(&["busy", &port], false);
    client.begin(&machine, 2);
    client.expect("sent");
    machine.kill_daemon();
    server.go_on();
    server.expect("answered");
    server.expect("new");
    server.expect("reset");
}

/// Has a server go on with a second reader, of whom it tells first, and read the rest of the stream itself.
fn is_read_to_the_end(server: &[&str], first: &str, moves: bool) {
    let machine = Machine::start();
    let (mut server, mut client) = begin(&machine, server, "busy", moves);
    server.expect(first);
    server.expect("rest");
    client.expect("done");
    client.go_on();
    client.expect("ended");
    server.expect("ended");
}

/// A child that another program becomes reads a part, and its parent the rest.
#[test]
fn a_started_program_and_its_parent_read_one_stream() {
    if !has_python() {
        return;
    }
    for (how, moves) in [("fork", false), ("spawn", false), ("fork", true), ("subprocess", false)] {
        is_read_to_the_end(&["shares", how], "part", moves);
    }
}

/// A list of actions gives it the socket at another number, whether it knows of the library or not.
#[test]
fn a_program_that_actions_give_the_socket_has_all_bytes() {
    if !has_python() {
        return;
    }
    for (server, moves) in [
        (&["shares", "actions"][..], false),
        (&["shares", "actions", "bare"], false),
        (&["shares", "actions"], true),
    ] {
        is_read_to_the_end(server, "part", moves);
    }
}

/// A child without the library does not have the socket, and its parent all of it.
#[test]
fn a_started_program_without_the_library_takes_nothing_from_its_parent() {
    if has_python() {
        is_read_to_the_end(&["shares", "bare"], "none", false);
    }
}

/// A descriptor that is passed on has all bytes, and the one that stays, too.
#[test]
fn a_descriptor_that_is_passed_on_has_all_bytes() {
    if has_python() {
        is_read_to_the_end(&["passes"], "part", false);
    }
}

/// So it has if other threads use the socket meanwhile.
#[test]
fn a_process_of_several_threads_passes_a_descriptor_on() {
    if has_python() {
        is_read_to_the_end(&["passes", "threads"], "part", false);
    }
}
