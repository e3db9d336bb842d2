//! A program that leaves its calls by jumps.

use crate::machine::{Machine, Program, compiled};
use tempfile::TempDir;

#[test]
fn a_socket_works_on_when_a_handler_has_jumped_out_of_a_wait() {
    let folder = TempDir::new().unwrap();
    let machine = Machine::start();
    let mut command = machine.command(compiled("jumps", &[], folder.path()));
    command.env("BERTHA_SOCKETS_EAGER", "1");
    let mut program = Program::start(command);
    program.begin(&machine, 2);
    program.expect("in a ring");
    assert_eq!(machine.moved().len(), 2);
    program.go_on();
    program.expect("ended");
}
