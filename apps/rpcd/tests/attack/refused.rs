//! Floods of daemons that are refused.

use super::*;
use bertha::kernel::Tcp;
use bertha::prelude::*;
use bertha_core::{Base, Connection};

/// Number of daemons of a flood.
const FLOOD: usize = 200;

/// Starts a daemon that takes others, with these arguments. Returns it with its address.
pub(crate) fn listening(arguments: &[&str]) -> (Process, String) {
    let addr = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let daemon = Process::start(&[&["--listen", &addr.to_string()], arguments].concat());
    // The daemon takes applications a moment before it takes daemons, and an attempt to connect would be in its log.
    let listens = format!(":{:04X} 00000000:0000 0A", addr.port());
    assert!(becomes(|| std::fs::read_to_string("/proc/net/tcp").unwrap().contains(&listens)));
    (daemon, addr.to_string())
}

/// Connects, and says what no daemon says. Returns the connection, which may have ended.
async fn intrude(addr: &str) -> Option<impl Connection<Data = Buf>> {
    let connection = make_stack!().connect(Tcp::new(), addr).await.ok()?;
    let mut hello = connection.base().buffer(1).ok()?;
    hello.copy_from_slice(b"?");
    connection.send(hello).await.ok()?;
    connection.recv().await.ok()?;
    Some(connection)
}

/// Returns the lines of the log about daemons that are not taken, and the number of daemons of which they tell.
fn lines(log: &str) -> (Vec<&str>, usize) {
    let lines: Vec<_> = log.lines().filter(|line| line.contains("a daemon is not taken")).collect();
    let count = |line: &&str| {
        let (_, count) = line.split_once("count=").unwrap();
        count.split_whitespace().next().unwrap().parse::<usize>().unwrap()
    };
    let told = lines.iter().map(count).sum();
    (lines, told)
}

/// The log of a flood has a line a second, each with the number of those who came since the last.
#[tokio::test]
async fn daemons_that_are_refused_fill_no_log() {
    let (daemon, addr) = listening(&[]);
    for _ in 0..FLOOD {
        // The answer may be lost with a connection that the daemon ends behind it.
        let _told = intrude(&addr).await;
    }
    let log = daemon.log();
    let (lines, told) = lines(&log);
    assert!(lines[0].contains("a hello is too short") && lines[0].contains("peer=127.0.0.1:"), "{log}");
    assert!(lines.len() < FLOOD / 4 && told <= FLOOD, "{} lines tell of {told} daemons", lines.len());
}

/// The log names the option by which an operator gives an address more.
#[tokio::test]
async fn daemons_beyond_the_part_of_their_address_fill_no_log() {
    let (daemon, addr) = listening(&["--per-address", "1"]);
    // Each has the place of the one before, which has said nothing.
    let mut silent = Vec::new();
    for _ in 0..FLOOD {
        silent.push(make_stack!().connect(Tcp::new(), addr.as_str()).await.unwrap());
    }
    let log = daemon.log();
    let (lines, _) = lines(&log);
    assert!(lines[0].contains("its address has 1 connections (--per-address)"), "{log}");
    assert!(lines.len() < FLOOD / 4, "{} lines", lines.len());
}
