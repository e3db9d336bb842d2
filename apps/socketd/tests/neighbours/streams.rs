//! Streams that move.

use crate::machine::Machine;
use crate::needs::has_python;

/// A stream of a known pattern moves a thousand times into the ring and back, in each direction.
#[test]
fn no_byte_is_lost_over_a_thousand_moves() {
    if !has_python() {
        return;
    }
    let machine = Machine::start();
    let mut server = machine.python(&["echo"], true);
    let port = server.line();
    let mut client = machine.python(&["rounds", &port, "3200"], true);
    client.begin(&machine, 2);
    client.expect("done");
    let moved = machine.moved();
    assert!(moved.len() == 2 && moved.iter().all(|moves| *moves >= 2_000), "{moved:?}");
    client.go_on();
    client.expect("ended");
    server.expect("ended");
}

/// Others than the descriptor that connects read the stream: it stays with the kernel.
#[test]
fn a_socket_that_had_copies_before_it_connected_loses_nothing() {
    if !has_python() {
        return;
    }
    let machine = Machine::start();
    let mut server = machine.python(&["echo_all"], false);
    let port = server.line();
    machine.python(&["early", &port], false).expect("done");
}

/// Servers that wait by epoll, for levels and for edges, and clients that wait by poll and select.
#[test]
fn waiters_of_all_kinds_hear_of_bytes_in_rings() {
    if !has_python() {
        return;
    }
    for (kind, moves) in [("level", false), ("edge", false), ("level", true), ("edge", true)] {
        let machine = Machine::start();
        let mut server = machine.python(&["epoll_echo", kind], moves);
        let port = server.line();
        let mut client = machine.python(&["crowd", &port, "60"], moves);
        client.begin(&machine, 40);
        client.expect("done");
        assert_eq!(machine.moved().len(), 40, "{kind}");
        client.go_on();
        client.expect("ended");
        server.expect("ended");
    }
}

#[test]
fn an_idle_waiter_takes_no_time() {
    if !has_python() {
        return;
    }
    let machine = Machine::start();
    let mut server = machine.python(&["echo"], false);
    let port = server.line();
    let mut client = machine.python(&["idle", &port], false);
    client.begin(&machine, 2);
    // Two seconds of waiting, in milliseconds of the processor.
    let spent: u64 = client.line().strip_prefix("done ").unwrap().parse().unwrap();
    assert!(spent <= 5, "{spent} ms");
    assert_eq!(machine.moved().len(), 2);
    client.go_on();
    client.expect("ended");
}
