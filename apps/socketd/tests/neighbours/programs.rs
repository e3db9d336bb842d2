//! Connections that several processes, descriptors, threads and programs use.

use crate::machine::Machine;
use crate::needs::has_python;
use std::process::Command;

/// A program that looks for its open descriptors finds those that it has opened.
#[test]
fn a_program_finds_no_descriptor_of_the_library() {
    if !has_python() {
        return;
    }
    let look = "
import fcntl, os
def is_open(fd, look):
    try: look(fd)
    except OSError: return False
    return True
for look in os.fstat, lambda fd: fcntl.fcntl(fd, fcntl.F_GETFD):
    print([fd for fd in range(3, 1024) if is_open(fd, look)])
print(max(map(int, os.listdir('/proc/self/fd'))) >= 900)";
    let machine = Machine::start();
    let [native, now] =
        [Command::new("/usr/bin/python3"), machine.command("/usr/bin/python3")].map(|mut python| {
            let output = python.args(["-c", look]).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        });
    // There is one, or there would be nothing to find.
    assert_eq!(now, native.replace("False", "True"));
}

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
