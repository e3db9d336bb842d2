//! Redis.

use crate::machine::{Killed, Machine};
use crate::needs::has;
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::time::Duration;

#[test]
fn redis_and_its_benchmark_talk_through_rings() {
    if !has("redis-server") || !has("redis-benchmark") {
        return;
    }
    let machine = Machine::start();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let text = port.to_string();
    let server = machine
        .command("redis-server")
        .args(["--port", &text, "--save", "", "--bind", "127.0.0.1"])
        .stdout(Stdio::null())
        .spawn();
    let _server = Killed(server.unwrap());
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let load = machine
        .command("redis-benchmark")
        .args(["-p", &text, "-c", "10", "-n", "40000", "-t", "set,get", "-q"])
        .stdout(Stdio::piped())
        .spawn();
    let mut load = Killed(load.unwrap());
    let mut most = 0;
    let status = loop {
        most = most.max(machine.moved().len());
        if let Some(status) = load.0.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(status.success());
    assert!(most >= 20, "{most} ends have moved");
    let told = machine.command("redis-cli").args(["-p", &text, "ping"]).output().unwrap();
    assert_eq!(told.stdout, b"PONG\n");
}
