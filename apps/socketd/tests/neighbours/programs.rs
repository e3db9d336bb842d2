//! Connections that several processes, descriptors, threads and programs use.

use crate::machine::{Machine, has_python};

/// A child, a copy of the descriptor, a thread, and at last another program that gets the socket.
#[test]
fn a_connection_goes_on_in_children_copies_threads_and_programs() {
    if !has_python() {
        return;
    }
    for moves in [false, true] {
        let machine = Machine::start();
        let mut server = machine.python(&["processes"], moves);
        let port = server.line();
        let mut client = machine.python(&["talk", &port], moves);
        client.begin(&machine, 2);
        client.expect("done");
        assert_eq!(machine.moved().len(), 2);
        client.go_on();
        client.expect("ended");
    }
}
