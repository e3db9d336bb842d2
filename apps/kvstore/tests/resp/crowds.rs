//! More clients than there is room for.

use crate::program::{Client, Program};
use std::net::TcpStream;

/// The process may open few files, and can't raise the limit.
const FEW_FILES: &str = "ulimit -n 100;";

fn is_served(program: &Program) -> bool {
    let mut client = program.client();
    (0..3).all(|_| client.ask(&[b"PING"]) == "+PONG")
}

#[test]
fn a_newcomer_gets_the_place_of_a_client_that_says_nothing() {
    let program = Program::start(FEW_FILES, &["--shards", "2"]);
    let mut working = program.client();
    assert_eq!(working.ask(&[b"PING"]), "+PONG");
    let silent: Vec<_> = (0..300).map(|_| TcpStream::connect(program.addr()).unwrap()).collect();
    assert!(is_served(&program));
    let mut halves = Vec::new();
    for _ in 0..300 {
        let mut client = program.client();
        // The store may have given its place away before it writes.
        let _ = client.try_write(b"*2\r\n$3\r\nGET\r\n$1");
        halves.push(client);
        if halves.len() % 20 == 0 {
            assert!(is_served(&program));
        }
    }
    assert!(is_served(&program));
    assert_eq!(working.ask(&[b"PING"]), "+PONG", "a client that works has lost its place to silent ones");
    drop(silent);
    assert!(program.info("connections_ended_places") + program.info("connections_ended_descriptors") > 400);
}

#[test]
fn a_newcomer_gets_the_place_of_the_client_that_was_idle_for_the_longest_time() {
    let program = Program::start(FEW_FILES, &[]);
    let mut clients: Vec<Client> = Vec::new();
    for _ in 0..200 {
        let mut client = program.client();
        assert_eq!(client.ask(&[b"PING"]), "+PONG");
        clients.push(client);
    }
    assert!(clients[..100].iter_mut().all(Client::is_ended));
    let last = clients.last_mut().unwrap();
    assert_eq!(last.ask(&[b"PING"]), "+PONG");
}

#[test]
fn the_limit_of_files_is_raised() {
    let program = Program::start("ulimit -Sn 64;", &[]);
    let mut clients: Vec<_> = (0..300).map(|_| program.client()).collect();
    for client in &mut clients {
        assert_eq!(client.ask(&[b"PING"]), "+PONG");
    }
    assert_eq!(program.info("connections_ended_places") + program.info("connections_ended_descriptors"), 0);
}

#[test]
fn clients_that_stay_idle_or_within_a_command_are_ended() {
    let program = Program::start("", &["--resp-idle", "1"]);
    let mut silent = program.client();
    let mut half = program.client();
    half.write(b"*1\r\n$4\r\nPI");
    let mut spoke = program.client();
    assert_eq!(spoke.ask(&[b"PING"]), "+PONG");
    assert!(silent.is_ended() && half.is_ended() && spoke.is_ended());
    assert_eq!(program.info("connections_ended_idle"), 3);
}

#[test]
fn half_a_command_has_ten_seconds_however_long_a_client_may_be_idle() {
    let program = Program::start("", &["--resp-idle", "0"]);
    let mut idle = program.client();
    assert_eq!(idle.ask(&[b"PING"]), "+PONG");
    let mut half = program.client();
    half.write(b"*1\r\n$4\r\nPI");
    assert!(half.is_ended());
    assert_eq!(idle.ask(&[b"PING"]), "+PONG");
    assert_eq!(program.info("connections_ended_half_command"), 1);
}
