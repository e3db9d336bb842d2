//! Programs whose TCP a stack of Bertha carries.

use crate::machine::{Killed, Machine, Program};
use crate::needs::{has, has_python};
use bertha_named::{AnyConnection, Connecting, Listening, Options, Transport};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

const RELIABLE: &str = "stack=ordered,reliable\nover=udp\n";

/// The programs that are carried.
pub(crate) const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/neighbours/carried.py");

/// Returns a command whose sockets are carried by a stack.
fn carried(machine: &Machine, settings: &str, program: &str) -> Command {
    let mut command = machine.command(program);
    command.env("BERTHA_SOCKETS_STACK", settings);
    command
}

pub(crate) fn python(machine: &Machine, settings: &str, arguments: &[&str]) -> Program {
    let mut command = carried(machine, settings, "/usr/bin/python3");
    command.arg(SCRIPT).args(arguments);
    Program::start(command)
}

/// Returns a port that nobody has.
fn free_port() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string()
}

/// Waits for a listener in the list.
fn await_listener(machine: &Machine, port: &str) {
    for _ in 0..2000 {
        let is_there = |line: &Vec<String>| line[1].ends_with(&format!(":{port}")) && line[3] == "stack";
        if machine.list().iter().any(is_there) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{:?}", machine.list());
}

/// Starts Python's server of files in a folder.
fn files(machine: &Machine, settings: &str, folder: &Path) -> (Killed, String) {
    let port = free_port();
    let server = carried(machine, settings, "/usr/bin/python3")
        .args(["-m", "http.server", "--bind", "127.0.0.1", "--directory"])
        .arg(folder)
        .arg(&port)
        .stderr(Stdio::null())
        .spawn();
    let server = Killed(server.unwrap());
    await_listener(machine, &port);
    (server, port)
}

fn curl(machine: &Machine, settings: &str, port: &str) -> Output {
    let url = format!("http://127.0.0.1:{port}/file");
    carried(machine, settings, "curl").args(["-s", "--max-time", "60", &url]).output().unwrap()
}

/// Returns bytes of which no part is like another.
fn pattern() -> Vec<u8> {
    (0..2_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

#[test]
fn programs_see_what_tcp_would_have_shown() {
    if !has_python() {
        return;
    }
    let machine = Machine::start();
    let mut server = python(&machine, RELIABLE, &["serve"]);
    let port = server.line();
    for work in ["talk", "cut-half"] {
        python(&machine, RELIABLE, &[work, &port]).expect("done");
    }
    let mut server = python(&machine, RELIABLE, &["serve"]);
    let port = server.line();
    python(&machine, RELIABLE, &["cut", &port]).expect("done");
    // The address is free again once the program has gone.
    let refusals = machine.list().iter().filter(|line| line[3] == "nowhere").count();
    assert!(refusals >= 2, "{:?}", machine.list());
}

#[test]
fn the_death_of_the_daemon_is_a_reset_and_not_an_end() {
    if !has_python() {
        return;
    }
    let mut machine = Machine::start();
    let mut server = python(&machine, RELIABLE, &["serve"]);
    let mut client = python(&machine, RELIABLE, &["wait", &server.line()]);
    client.expect("waits");
    machine.kill_daemon();
    client.expect("done");
    // What a stack is to carry never goes through the kernel.
    let output = curl(&machine, RELIABLE, "1");
    assert_eq!(output.status.code(), Some(7));
}

#[test]
fn files_come_whole_through_stacks_and_strangers_do_not() {
    if !has_python() || !has("curl") {
        return;
    }
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("file"), pattern()).unwrap();
    let (own, other) = (Certificate::new(&folder, "own"), Certificate::new(&folder, "other"));
    let secure = "stack=tls,ordered,reliable\nover=udp\n";
    let (server, client) = (format!("{secure}{}", own.server()), format!("{secure}{}", own.client()));
    for (server, client) in [(RELIABLE, RELIABLE), (&server, &client)] {
        let machine = Machine::start();
        let (_server, port) = files(&machine, server, folder.path());
        assert_eq!(curl(&machine, client, &port).stdout, pattern());
    }
    let machine = Machine::start();
    let (_server, port) = files(&machine, &server, folder.path());
    let stranger = format!("{secure}{}", other.client());
    assert_eq!(curl(&machine, &stranger, &port).status.code(), Some(7), "the connection is refused");
    let list = machine.list();
    let reason = list.iter().find(|line| line[3] == "nowhere").map(|line| &line[6][..]).unwrap_or_default();
    assert!(reason.contains("ertificate"), "{list:?}");
    // The stack loses bytes, so it is none for TCP.
    let output = curl(&machine, "stack=checksum\nover=udp\n", &port);
    assert_eq!(output.status.code(), Some(7));
}

struct Certificate {
    certificate: String,
    key: String,
}

impl Certificate {
    fn new(folder: &TempDir, name: &str) -> Self {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
        let write = |ending, text: String| {
            let path = folder.path().join(format!("{name}.{ending}"));
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        Self { certificate: write("pem", cert.pem()), key: write("key", signing_key.serialize_pem()) }
    }

    fn server(&self) -> String {
        format!("tls-cert={}\ntls-key={}\n", self.certificate, self.key)
    }

    fn client(&self) -> String {
        format!("tls-ca={}\n", self.certificate)
    }
}

#[test]
fn redis_answers_through_a_stack() {
    if !has("redis-server") {
        return;
    }
    let machine = Machine::start();
    let port = free_port();
    let server = carried(&machine, RELIABLE, "redis-server")
        .args(["--port", &port, "--save", "", "--bind", "127.0.0.1"])
        .stdout(Stdio::null())
        .spawn();
    let _server = Killed(server.unwrap());
    await_listener(&machine, &port);
    let told = carried(&machine, RELIABLE, "redis-cli").args(["-p", &port, "ping"]).output().unwrap();
    assert_eq!(told.stdout, b"PONG\n", "{told:?}");
    let load = carried(&machine, RELIABLE, "redis-benchmark")
        .args(["-p", &port, "-c", "10", "-n", "2000", "-t", "set,get", "-q"])
        .output();
    let load = load.unwrap();
    assert!(load.status.success(), "{load:?}");
    let short = carried(&machine, RELIABLE, "redis-benchmark")
        .args(["-p", &port, "-c", "5", "-n", "200", "-k", "0", "-t", "get", "-q"])
        .output();
    assert!(short.unwrap().status.success());
    // The listener is left of more than 200 sockets, once their last words are said.
    let is_over = |machine: &Machine| machine.list().iter().filter(|line| line[3] == "stack").count() == 1;
    for _ in 0..2000 {
        if is_over(&machine) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(is_over(&machine), "{:?}", machine.list());
    assert!(machine.descriptors() < 40, "{}", machine.descriptors());
    let told = carried(&machine, RELIABLE, "redis-cli").args(["-p", &port, "client", "list"]).output();
    let told = String::from_utf8(told.unwrap().stdout).unwrap();
    assert!(told.contains("addr=127.0.0.1:") && told.contains(&format!("laddr=127.0.0.1:{port}")), "{told}");
}

/// Receives bytes up to the end of the other end's direction.
async fn whole(connection: &Arc<dyn AnyConnection>) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let message = connection.receive().await.unwrap();
        if message.is_empty() {
            return bytes;
        }
        bytes.extend_from_slice(&message);
    }
}

async fn say(connection: &Arc<dyn AnyConnection>, bytes: &[u8]) {
    let mut message = connection.buffer(bytes.len()).unwrap();
    message.copy_from_slice(bytes);
    connection.clone().send(message).await.unwrap();
}

/// A program of Bertha asks a server that knows nothing of it, and answers such a client.
#[test]
fn a_program_of_bertha_is_the_other_end() {
    if !has_python() || !has("curl") {
        return;
    }
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("file"), pattern()).unwrap();
    let machine = Machine::start();
    let (_server, port) = files(&machine, RELIABLE, folder.path());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let stack = || "ordered,reliable".parse().unwrap();
    runtime.block_on(async {
        let work = Connecting::new(stack(), &format!("127.0.0.1:{port}"), Options::default());
        let connection = Transport::Udp.run(work).await.unwrap();
        say(&connection, b"GET /file HTTP/1.0\r\n\r\n").await;
        assert!(whole(&connection).await.ends_with(&pattern()));
        connection.close().await.unwrap();
    });
    let (addr, mut incoming, _registration) = runtime
        .block_on(Transport::Udp.run(Listening::new(stack(), "127.0.0.1:0", Options::default())))
        .unwrap();
    let port = addr.to_string().rsplit_once(':').unwrap().1.to_owned();
    let serving = runtime.spawn(async move {
        let connection = incoming.next().await.unwrap();
        let request = connection.receive().await.unwrap();
        assert!(request.starts_with(b"GET /file"));
        say(&connection, b"HTTP/1.0 200 OK\r\n\r\nwords of a program of Bertha").await;
        // It closes without an end before that.
        connection.close().await.unwrap();
    });
    assert_eq!(curl(&machine, RELIABLE, &port).stdout, b"words of a program of Bertha");
    runtime.block_on(serving).unwrap();
}

/// The server is none of Bertha, so curl reaches it if the rules leave the connection to the kernel.
#[test]
fn rules_say_what_a_stack_carries() {
    if !has("curl") {
        return;
    }
    let machine = Machine::start();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            // Bytes that are left unread would make a reset of the end.
            let mut request = [0; 4096];
            while stream
                .read(&mut request)
                .is_ok_and(|read| read > 0 && !request[..read].ends_with(b"\r\n\r\n"))
            {}
            let _ = stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nplain");
        }
    });
    for (name, value, is_carried) in [
        ("ADDRESSES", "10.0.0.0/8,::1", false),
        ("ADDRESSES", "10.0.0.0/8, 127.0.0.0/8", true),
        ("ADDRESSES", "127.0.0.2", false),
        ("PORTS", "53,80", false),
        ("PORTS", &port, true),
        ("INTERFACES", "lo", false),
        ("INTERFACES", "eth7, lo", true),
        ("INTERFACES", "eth7", false),
        ("PROTOCOLS", "udp", false),
        ("PROTOCOLS", "udp, tcp", true),
        ("PROGRAMS", "wget", false),
        ("PROGRAMS", "curl", true),
    ] {
        let url = format!("http://127.0.0.1:{port}/");
        let mut command = carried(&machine, RELIABLE, "curl");
        command.args(["-s", "--max-time", "20", &url]).env(format!("BERTHA_SOCKETS_{name}"), value);
        if value.contains("eth7") {
            // The socket is bound to this interface.
            command.args(["--interface", "if!lo"]);
        }
        let output = command.output().unwrap();
        let wanted = if is_carried { Some(7) } else { Some(0) };
        assert_eq!(output.status.code(), wanted, "{name}={value}");
    }
}
