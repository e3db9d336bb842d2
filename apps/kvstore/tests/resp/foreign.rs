//! Clients of other languages with their defaults, each in a program in `tests/clients`. This store and a Redis
//! have to pass the same programs.
//!
//! A program gets three addresses: that of a server without a password, and that of a server with a password,
//! with the right password and with a wrong password. It connects, gives everyday commands, 100,000 commands in a
//! pipeline, a value of 16 MiB and an unknown command, and prints `restart`. When the server has restarted, the
//! program reads a line, gives a command on the old connection, logs in, and prints `ok`.

use crate::program::Program;
use crate::redis_server::Redis;
use crate::skip;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/redis-clients");

/// The exit status of the script if the client is not installed.
const NOT_INSTALLED: i32 = 3;

const PASSWORD: &str = "secret";

/// Returns an address of this test alone: nothing else takes its port while the server restarts.
fn own_address() -> SocketAddr {
    static NEXT: AtomicU8 = AtomicU8::new(100);
    let [.., high, low] = std::process::id().to_be_bytes();
    (Ipv4Addr::new(127, NEXT.fetch_add(1, Ordering::Relaxed), high, low), 7379).into()
}

/// Runs the client's program against servers that `start` starts at an address, with a password if there is one.
fn pass<S>(client: &str, start: impl Fn(SocketAddr, Option<&str>) -> S) {
    let (open, guarded) = (own_address(), own_address());
    let mut server = start(open, None);
    let _guarded = start(guarded, Some(PASSWORD));
    let urls = [
        format!("redis://{open}"),
        format!("redis://default:{PASSWORD}@{guarded}"),
        format!("redis://default:wrong@{guarded}"),
    ];
    let mut program = Command::new(SCRIPT);
    program.args(["run", client]).args(urls).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut program = program.spawn().unwrap();
    let mut input = program.stdin.take().unwrap();
    let mut printed = Vec::new();
    for line in BufReader::new(program.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if line == "restart" {
            drop(server);
            server = start(open, None);
            input.write_all(b"\n").unwrap();
        }
        printed.push(line);
    }
    let status = program.wait().unwrap();
    if status.code() == Some(NOT_INSTALLED) {
        return skip(&format!("{client} is not installed; run scripts/redis-clients install"));
    }
    assert!(status.success() && printed == ["restart", "ok"], "{client}: {status}, {printed:?}");
}

fn is_served(client: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    std::fs::write(&file, PASSWORD).unwrap();
    pass(client, |addr, password| {
        let addr = addr.to_string();
        let options = ["--shards", "2", "--resp", &addr, "--resp-password-file", file.to_str().unwrap()];
        Program::start("", if password.is_some() { &options } else { &options[..4] })
    });
    if Redis::start(None, None).is_some() {
        pass(client, |addr, password| Redis::start(Some(addr), password));
    }
}

#[test]
fn redis_py() {
    is_served("redis-py");
}

#[test]
fn go_redis() {
    is_served("go-redis");
}

#[test]
fn node_redis() {
    is_served("node-redis");
}

#[test]
fn ioredis() {
    is_served("ioredis");
}
