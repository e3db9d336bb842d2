//! The commands `bertha run` and `bertha sockets`.

use crate::machine::{Machine, Program, library, script};
use crate::needs::{PYTHON, has_python, lacks};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns the command, which another package of the workspace builds beside the daemon.
fn bertha() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_BIN_EXE_bertha-socketd")).with_file_name("bertha");
    (path.exists() || lacks("`bertha`, as of `cargo build --package bertha-cli`,")).then_some(path)
}

/// Returns the command that runs a program, with the daemon at this socket.
fn run(bertha: &Path, socket: &Path, program: &[&str]) -> Command {
    let mut command = Command::new(bertha);
    command.arg("run").arg("--socket").arg(socket).arg("--library").arg(library()).arg("--").args(program);
    command.env_remove("LD_PRELOAD").env("BERTHA_SOCKETS_EAGER", "1");
    command
}

fn python(bertha: &Path, socket: &Path, arguments: &[&str]) -> Program {
    let script = script("program.py");
    Program::start(run(bertha, socket, &[&[PYTHON, script.to_str().unwrap()], arguments].concat()))
}

fn sockets(bertha: &Path, socket: &Path) -> Output {
    Command::new(bertha).arg("sockets").arg("--socket").arg(socket).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn programs_run_with_rings_and_their_sockets_are_listed() {
    let Some(bertha) = bertha().filter(|_| has_python()) else { return };
    let machine = Machine::start();
    let socket = machine.socket();
    let mut server = python(&bertha, &socket, &["echo"]);
    let port = server.line();
    let mut client = python(&bertha, &socket, &["rounds", &port, "100"]);
    client.begin(&machine, 2);
    client.expect("done");
    let listed = sockets(&bertha, &socket);
    assert!(listed.status.success() && listed.stderr.is_empty(), "{listed:?}");
    let table = text(&listed.stdout);
    let lines: Vec<Vec<_>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["process", "local", "peer", "where", "moves", "seconds", "reason"]);
    // The process is the program itself, as the command becomes it.
    let at = format!("127.0.0.1:{port}");
    for (process, end) in [(&server, 1), (&client, 2)] {
        let process = process.child.0.id().to_string();
        let line = lines.iter().find(|line| line[0] == process).unwrap_or_else(|| panic!("{table}"));
        assert!(line[end] == at && line[3] == "ring", "{table}");
    }
    assert_eq!(lines.len(), 3);
    client.go_on();
    client.expect("ended");
    server.expect("ended");
}

#[test]
fn a_program_ends_as_it_does_without_the_command() {
    let Some(bertha) = bertha() else { return };
    let machine = Machine::start();
    let ends = |words: &[&str]| run(&bertha, &machine.socket(), words).output().unwrap();
    assert_eq!(ends(&["sh", "-c", "exit 7"]).status.code(), Some(7));
    assert_eq!(ends(&["sh", "-c", "kill -TERM $$"]).status.signal(), Some(15));
    let spoken = ends(&["sh", "-c", "echo words; echo others >&2", "--version"]);
    assert_eq!((text(&spoken.stdout), text(&spoken.stderr)), ("words\n".into(), "others\n".into()));
    let missing = ends(&["/nowhere/program"]);
    let words = text(&missing.stderr);
    assert!(!missing.status.success() && missing.stdout.is_empty());
    assert!(words.contains("cannot run /nowhere/program"), "{words}");
    let mut without = Command::new(&bertha);
    without.args(["run", "--library", "/nowhere/library", "--", "true"]);
    let without = without.output().unwrap();
    assert!(!without.status.success());
    assert!(text(&without.stderr).contains("--library"), "{without:?}");
}

#[test]
fn without_a_daemon_a_program_runs_on_the_kernel() {
    let Some(bertha) = bertha().filter(|_| has_python()) else { return };
    let nowhere = Path::new("/nowhere/sockets.sock");
    let mut server = python(&bertha, nowhere, &["echo"]);
    let mut client = python(&bertha, nowhere, &["rounds", &server.line(), "100"]);
    client.expect("begun");
    client.go_on();
    client.expect("done");
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", client.child.0.id())).unwrap();
    assert!(maps.contains("libbertha_sockets.so") && !maps.contains("memfd:bertha-shm"), "{maps}");
    client.go_on();
    client.expect("ended");
    server.expect("ended");
    let listed = sockets(&bertha, nowhere);
    assert!(!listed.status.success());
    let words = text(&listed.stderr);
    assert!(words.contains("cannot ask the daemon at /nowhere/sockets.sock"), "{words}");
    // What a stack is to carry does not go through the kernel in clear instead.
    let mut carried = Command::new(&bertha);
    carried.args(["run", "--socket", "/nowhere/sockets.sock", "--device", "tcp", "--library"]).arg(library());
    let carried = carried.args(["--", "true"]).output().unwrap();
    assert!(text(&carried.stderr).contains("no daemon carries the connections"), "{carried:?}");
}
