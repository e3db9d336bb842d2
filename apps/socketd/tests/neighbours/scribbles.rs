//! An end that writes anything into the memory.

use crate::machine::{Machine, Program, ticks};
use crate::needs::{has_python, number};
use crate::strangers::{hand_over, hear};
use bertha_sockets_machine::control::Field;
use bertha_sockets_machine::protocol::Answer;
use bertha_sockets_machine::{Direction, Layout};
use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

/// The words that one connection gets.
const WORDS: u64 = 20_000;

/// Connects to a program as its neighbour, and returns the memory, of whose ring the program reads.
fn neighbour(machine: &Machine, port: u16) -> (TcpStream, File) {
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let daemon = hand_over(machine, client.as_fd());
    let mut echo = || {
        client.write_all(b"hello").unwrap();
        client.read_exact(&mut [0; 5]).unwrap();
    };
    echo();
    let (answer, memory) = hear(&daemon);
    let Answer::Client(ring) = Answer::decode(&answer) else { panic!("{answer:?}") };
    let layout = Layout::new(usize::try_from(ring).unwrap()).unwrap();
    let memory = File::from(memory.unwrap());
    let at = layout.beside_bytes(Direction::FromClient) + 8 * Field::Attached as u64;
    for _ in 0..1000 {
        echo();
        let mut word = [0; 8];
        memory.read_exact_at(&mut word, at).unwrap();
        if u64::from_ne_bytes(word) == 1 {
            return (client, memory);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    panic!("the program has no ring");
}

/// Waits until a program takes next to no time, as it has nothing to do.
fn await_rest(program: &Program) {
    let time = || ticks(program.child.0.id());
    for _ in 0..200 {
        let before = time();
        std::thread::sleep(Duration::from_millis(100));
        // One that spins has ten.
        if time() - before <= 4 {
            return;
        }
    }
    panic!("a program spins for what lies in the memory");
}

/// At most the connection ends: the program goes on, its other connection has its bytes, and it neither waits for ever nor spins.
#[test]
fn a_neighbour_that_scribbles_harms_this_connection_alone() {
    if !has_python() {
        return;
    }
    let machine = Machine::start();
    let mut seed = 1_u64;
    for round in 0..number("SOCKETS_SCRIBBLES", 10 * WORDS).div_ceil(WORDS) {
        let mut server = machine.python(&["scribbled"], false);
        let port: u16 = server.line().parse().unwrap();
        let (mut client, memory) = neighbour(&machine, port);
        let bytes = memory.metadata().unwrap().len();
        for _ in 0..WORDS {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = if seed >> 63 == 0 { (seed >> 20) % 4096 } else { (seed >> 20) % bytes } & !7;
            let value = [0, 1, seed >> 50, u64::MAX][(seed >> 33) as usize % 4];
            memory.write_all_at(&value.to_ne_bytes(), at).unwrap();
        }
        client.set_nonblocking(true).unwrap();
        let _ = client.write(b"more");
        if round % 20 == 0 {
            await_rest(&server);
        }
        drop(client);
        // An end of the stream, or an error that TCP has, too.
        let end = server.line();
        assert!(end == "ended" || end == "reset", "round {round}: {end}");
        server.expect("the other connection is well");
        assert_eq!(server.child.0.wait().unwrap().signal(), None);
    }
}
