//! Options of which a ring knows nothing.

use crate::machine::{Machine, Program};
use crate::needs::has_python;

/// The stream goes back to the kernel, which tells what it has done.
#[test]
fn a_send_without_copies_is_told_to_have_been_copied() {
    if !has_python() {
        return;
    }
    let machine = Machine::start();
    let mut server = machine.python(&["echo"], false);
    let mut client = Program::start(machine.script("calls.py", &["without_copies", &server.line()]));
    let line = client.line();
    assert!(line.starts_with("begun ") && line != "begun 0", "{line}");
    client.expect("done");
    server.expect("ended");
}
