//! Programs that read their connections by an io_uring, past the library.

use crate::machine::{Machine, Program, compiled};
use tempfile::TempDir;

/// Makes an io_uring by a way that the library hears of, by an instruction with the number of the call, and by one without.
#[test]
fn a_process_with_an_io_uring_reads_the_right_bytes() {
    for (how, when, moves) in [
        ("LIBC", "BEFORE", 0),
        ("LIBC", "AFTER", 2),
        ("LIBC", "GONE", 2),
        ("INLINE", "BEFORE", 0),
        ("INLINE", "AFTER", 0),
        ("HIDDEN", "BEFORE", 0),
    ] {
        let folder = TempDir::new().unwrap();
        let machine = Machine::start();
        let definitions = [format!("-DHOW={how}"), format!("-DWHEN={when}")];
        let mut command = machine.command(compiled("uring", &definitions, folder.path()));
        command.env("BERTHA_SOCKETS_EAGER", "1");
        let mut program = Program::start(command);
        let begun = program.line();
        if begun.starts_with("no io_uring") {
            crate::needs::lacks(&begun);
            return;
        }
        assert_eq!(begun, "begun");
        for _ in 0..300 {
            if moves == 0 || machine.list().len() == 2 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        program.go_on();
        program.expect("talked");
        assert_eq!(machine.moved().len(), moves, "{how} {when}: {:?}", machine.list());
        program.go_on();
        program.expect("read");
        if when == "GONE" {
            program.go_on();
            program.expect("ended");
            continue;
        }
        assert_eq!(machine.moved().len(), moves, "{how} {when}");
        let is_told = machine.list().iter().any(|line| line[6] == "an io_uring");
        // One that has an io_uring before it asks for a ring asks for none.
        assert!(is_told || (how, when) == ("LIBC", "BEFORE"), "{how} {when}: {:?}", machine.list());
        program.go_on();
        program.expect("ended");
    }
}
