//! A program that leaves its calls by jumps.

use crate::machine::{Machine, Program};
use std::process::Command;
use tempfile::TempDir;

#[test]
fn a_socket_works_on_when_a_handler_has_jumped_out_of_a_wait() {
    let folder = TempDir::new().unwrap();
    let (source, program) =
        (concat!(env!("CARGO_MANIFEST_DIR"), "/tests/neighbours/jumps.c"), folder.path().join("jumps"));
    let built =
        Command::new("cc").args(["-O1", "-w", "-D_GNU_SOURCE", "-o"]).arg(&program).arg(source).status();
    assert!(built.expect("cc has to be installed").success());
    let machine = Machine::start();
    let mut command = machine.command(&program);
    command.env("BERTHA_SOCKETS_EAGER", "1");
    let mut program = Program::start(command);
    program.begin(&machine, 2);
    program.expect("in a ring");
    assert_eq!(machine.moved().len(), 2);
    program.go_on();
    program.expect("ended");
}
