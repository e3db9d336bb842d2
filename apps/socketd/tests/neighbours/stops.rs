//! An end that stands still for a while.

use crate::machine::{Machine, Program};
use crate::needs::has_python;
use rustix::process::{Pid, Signal, kill_process};

/// The milliseconds of the processor that waits of two seconds take at most.
const REST: u64 = 20;

fn signal(program: &Program, signal: Signal) {
    let process = Pid::from_child(&program.child.0);
    kill_process(process, signal).unwrap();
}

fn is_at_rest(program: &mut Program, word: &str) {
    let line = program.line();
    let spent: u64 =
        line.strip_prefix(word).unwrap_or_else(|| panic!("it says {line:?}")).trim().parse().unwrap();
    assert!(spent <= REST, "{word}: {spent} ms of the processor");
}

/// Calls with a time end, waits take next to no time, and all bytes come once the end goes on.
#[test]
fn an_end_that_is_stopped_holds_no_other_up() {
    if !has_python() {
        return;
    }
    let machine = Machine::start();
    let mut server = machine.python(&["echo"], false);
    let mut client = Program::start(machine.script("calls.py", &["stopped", &server.line()]));
    client.expect("begun");
    assert_eq!(machine.moved().len(), 2);
    signal(&server, Signal::STOP);
    client.go_on();
    is_at_rest(&mut client, "waited");
    is_at_rest(&mut client, "filled");
    signal(&server, Signal::CONT);
    client.expect("goes on");
    signal(&server, Signal::STOP);
    client.go_on();
    client.expect("closed");
    signal(&server, Signal::CONT);
    // It has sent back what nobody reads any more.
    server.child.0.wait().unwrap();
}
