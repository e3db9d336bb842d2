//! Many connections, one after another or at once.

use crate::machine::{Machine, Program};
use crate::needs::{has_descriptors, has_python, number};
use std::time::Duration;

/// The memory, in KiB, by which a process may grow that keeps nothing: allocators and tables of the kernel's pages do not stand still.
const GROWTH: u64 = 1024;

/// Returns the numbers of a line behind its first word.
fn numbers<const COUNT: usize>(program: &mut Program, word: &str) -> [u64; COUNT] {
    let line = program.line();
    let numbers: Vec<_> = line.split(' ').skip(1).map(|number| number.parse().unwrap()).collect();
    assert!(line.starts_with(word), "{line}");
    numbers.try_into().unwrap()
}

/// Waits until the daemon has no more descriptors than at its start: an end whose other end never asks waits for ten seconds.
fn await_descriptors(machine: &Machine, first: usize) {
    for _ in 0..6000 {
        // Who asks for the list has it forget connections that are over.
        if machine.moved().is_empty() && machine.descriptors() <= first {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{} descriptors, and {first} at the start", machine.descriptors());
}

/// One in a hundred has a ring.
#[test]
fn short_connections_leave_nothing_behind() {
    if !has_python() {
        return;
    }
    let count = number("SOCKETS_SHORT", 5000);
    let machine = Machine::start();
    let first = machine.descriptors();
    let mut command = machine.script("crowds.py", &["short", &count.to_string()]);
    command.env_remove("BERTHA_SOCKETS_EAGER");
    let mut program = Program::start(command);
    let [descriptors, memory, rings, _] = numbers(&mut program, "has");
    let of_daemon = machine.resident();
    program.go_on();
    let [descriptors_now, memory_now, rings_now, had_rings] = numbers(&mut program, "has");
    let of_daemon_now = machine.resident();
    assert!(had_rings >= count / 110, "{had_rings} connections had rings");
    assert_eq!((descriptors_now, rings_now), (descriptors, rings));
    assert!(memory_now <= memory + GROWTH, "{memory} KiB, and then {memory_now}");
    assert!(of_daemon_now <= of_daemon + GROWTH, "the daemon: {of_daemon} KiB, and then {of_daemon_now}");
    await_descriptors(&machine, first);
    program.go_on();
}

#[test]
fn a_ready_socket_costs_no_more_beside_a_crowd_of_idle_ones() {
    let count = number("SOCKETS_IDLE", 1000);
    if !has_python() || !has_descriptors(3 * count / 2 + 200) {
        return;
    }
    let machine = Machine::start();
    let text = count.to_string();
    let mut server = Program::start(machine.script("crowds.py", &["serve", &text]));
    let mut client = Program::start(machine.script("crowds.py", &["idle", &server.line(), &text]));
    let [alone, crowded, rings] = numbers(&mut server, "cost");
    assert!(crowded * 2 <= alone * 3, "{alone} ns alone, and {crowded} beside {count} idle sockets");
    // The daemon has fewer places than the largest crowd has connections.
    assert!(rings > count.min(1000) / 2, "{rings} rings");
    assert_eq!(numbers::<1>(&mut client, "done"), [count]);
    server.go_on();
    client.go_on();
}
