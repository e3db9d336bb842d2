//! Ends that die, and a daemon that does.

use crate::machine::Machine;
use crate::needs::has_python;

#[test]
fn what_a_killed_end_has_sent_is_read_before_the_end() {
    if !has_python() {
        return;
    }
    let machine = Machine::start();
    let mut source = machine.python(&["source"], false);
    let port = source.line();
    let mut sink = machine.python(&["sink", &port], false);
    sink.begin(&machine, 2);
    sink.expect("done");
    source.expect("sent");
    assert_eq!(machine.moved().len(), 2);
    drop(source);
    sink.go_on();
    sink.expect("ended");
}

/// A bell that nobody has read would make a reset of the end.
#[test]
fn an_end_without_a_close_is_an_end_of_the_stream() {
    if !has_python() {
        return;
    }
    let machine = Machine::start();
    let mut server = machine.python(&["echo"], false);
    let port = server.line();
    let mut client = machine.python(&["leaver", &port], false);
    client.begin(&machine, 2);
    client.expect("done");
    assert_eq!(machine.moved().len(), 2);
    client.go_on();
    server.expect("ended");
}

#[test]
fn an_abort_is_a_reset() {
    if !has_python() {
        return;
    }
    let machine = Machine::start();
    let mut server = machine.python(&["echo_until_reset"], false);
    let port = server.line();
    let mut client = machine.python(&["aborter", &port], false);
    client.begin(&machine, 2);
    client.expect("done");
    assert_eq!(machine.moved().len(), 2);
    client.go_on();
    client.expect("ended");
    server.expect("reset");
}

#[test]
fn connections_outlive_the_daemon() {
    if !has_python() {
        return;
    }
    let mut machine = Machine::start();
    let mut server = machine.python(&["processes"], false);
    let port = server.line();
    let mut client = machine.python(&["talk", &port], false);
    client.begin(&machine, 2);
    client.expect("done");
    assert_eq!(machine.moved().len(), 2);
    machine.kill_daemon();
    client.go_on();
    client.expect("ended");
    // Programs that start now run on the kernel.
    let mut server = machine.python(&["echo"], false);
    let port = server.line();
    let mut client = machine.python(&["rounds", &port, "100"], false);
    client.expect("begun");
    client.go_on();
    client.expect("done");
    client.go_on();
    client.expect("ended");
}
