//! Programs whose datagrams a device carries, with programs at the other end that the kernel serves.

use crate::machine::{Machine, Program};
use crate::needs::has_python;
use std::process::Command;

/// The program, which does the same whatever carries it.
pub(crate) const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/neighbours/datagrams.py");

/// The kernel in the place of a device: the daemon carries as it does with another.
const KERNEL: &str = "device=tcp\n";

fn start(mut command: Command, arguments: &[&str]) -> Program {
    command.arg(SCRIPT).args(arguments);
    Program::start(command)
}

fn native(arguments: &[&str]) -> Program {
    start(Command::new("/usr/bin/python3"), arguments)
}

fn carried(machine: &Machine, arguments: &[&str]) -> Program {
    let mut command = machine.command("/usr/bin/python3");
    command.env("BERTHA_SOCKETS_STACK", KERNEL);
    start(command, arguments)
}

#[test]
fn any_program_is_the_other_end_of_datagrams() {
    if !has_python() {
        return;
    }
    let machine = Machine::start();
    let mut server = native(&["serve"]);
    let port = server.line();
    native(&["talk", &port]).expect("done");
    carried(&machine, &["talk", &port]).expect("done");
    let mut server = carried(&machine, &["serve"]);
    let port = server.line();
    native(&["talk", &port]).expect("done");
    carried(&machine, &["talk", &port]).expect("done");
    let list = machine.list();
    let at = format!("127.0.0.1:{port}");
    let is_of_server = |line: &&Vec<String>| line[1] == at && line[6].ends_with("datagrams");
    assert!(list.iter().any(|line| is_of_server(&line)), "{list:?}");
}

/// A rule that names TCP alone leaves datagrams to the kernel.
#[test]
fn datagrams_go_where_the_rule_of_their_protocol_says() {
    if !has_python() {
        return;
    }
    for (protocol, is_carried) in [("tcp", false), ("udp", true)] {
        let machine = Machine::start();
        let mut command = machine.command("/usr/bin/python3");
        command.env("BERTHA_SOCKETS_STACK", KERNEL).env("BERTHA_SOCKETS_PROTOCOLS", protocol);
        let mut server = start(command, &["serve"]);
        let port = server.line();
        native(&["talk", &port]).expect("done");
        let is_listed = machine.list().iter().any(|line| line[6].ends_with("datagrams"));
        assert_eq!(is_listed, is_carried, "{protocol}");
    }
}

#[test]
fn a_socket_of_datagrams_ends_with_the_daemon() {
    if !has_python() {
        return;
    }
    let mut machine = Machine::start();
    let mut server = native(&["serve"]);
    let port = server.line();
    let mut client = carried(&machine, &["orphan", &port]);
    client.expect("begun");
    machine.kill_daemon();
    client.go_on();
    client.expect("done");
}
