//! The list says why a stream has left its ring.

use crate::machine::Machine;
use crate::needs::has_python;

#[test]
fn the_list_says_what_took_a_stream_out_of_its_ring() {
    if !has_python() {
        return;
    }
    for (what, reason, goes_both_ways) in [
        ("send_urgent", "urgent data", true),
        ("zerocopy", "an option that a ring has not", true),
        ("splice_in", "splice or sendfile", false),
        ("passed_on", "the descriptor was passed on", true),
        ("signals", "signals for input", false),
    ] {
        let machine = Machine::start();
        let mut server = machine.python(&["echo"], false);
        let port = server.line();
        let mut client = machine.python(&["unfit_late", &port, what], false);
        client.begin(&machine, 2);
        client.expect("done");
        let list = machine.list();
        let of_other = format!("the other end: {reason}");
        let has = |words: &str| list.iter().any(|line| line[3] == "kernel" && line[6] == words);
        // Signals concern what comes in alone, and splice what goes out.
        let is_told = match (goes_both_ways, what) {
            (true, _) => has(reason) && has(&of_other),
            (_, "signals") => has(&of_other),
            _ => has(reason),
        };
        assert!(is_told, "{what}: {list:?}");
        client.go_on();
        client.expect("ended");
        server.expect("ended");
    }
}
