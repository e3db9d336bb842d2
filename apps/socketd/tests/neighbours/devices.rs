//! Programs whose TCP a device carries, with programs at its other end that the kernel serves.

use crate::carried::{SCRIPT, python};
use crate::datagrams;
use crate::machine::{Machine, Program, library};
use crate::namespaces::{Namespace, ip};
use crate::needs::{has_python, lacks};
use bertha_named::Transport;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The kernel's TCP in the place of a device: the daemon carries as it does with another.
const KERNEL: &str = "device=tcp\n";

/// What a program sees of a server, and of one that dies.
const WORKS: [&str; 3] = ["talk-plainly", "cut-half", "cut"];

fn native(arguments: &[&str]) -> Program {
    let mut command = Command::new("/usr/bin/python3");
    command.arg(SCRIPT).args(arguments);
    Program::start(command)
}

#[test]
fn any_program_is_the_other_end_of_plain_tcp() {
    if !has_python() {
        return;
    }
    let machine = Machine::start();
    for work in WORKS {
        let mut server = python(&machine, KERNEL, &["serve"]);
        native(&[work, &server.line()]).expect("done");
        let mut server = native(&["serve"]);
        python(&machine, KERNEL, &[work, &server.line()]).expect("done");
    }
    let refused = machine.list();
    assert!(refused.iter().any(|line| line[3] == "nowhere" && line[2] == "127.0.0.1:1"), "{refused:?}");
}

#[test]
fn a_connection_that_fails_has_the_number_of_its_cause() {
    if !has_python() {
        return;
    }
    let machine = Machine::start();
    native(&["unreachable"]).expect("done");
    python(&machine, KERNEL, &["unreachable"]).expect("done");
}

/// Starts a daemon with so many descriptors.
fn with_descriptors(count: usize) -> Machine {
    let mut command = Command::new("prlimit");
    command.arg(format!("--nofile={count}:{count}")).arg(env!("CARGO_BIN_EXE_bertha-socketd"));
    Machine::start_by(command)
}

/// Strangers that come to a program, which takes none of them, keep no other program from its connections.
#[test]
fn a_program_has_its_part_of_the_sockets_that_are_carried() {
    if !has_python() {
        return;
    }
    // A program that is alone has half of a quarter.
    let machine = with_descriptors(1024);
    let mut deaf = python(&machine, KERNEL, &["take-none"]);
    let port: u16 = deaf.line().parse().unwrap();
    let strangers: Vec<_> = (0..500).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    let mut server = python(&machine, KERNEL, &["serve"]);
    native(&["talk-plainly", &server.line()]).expect("done");
    let mut server = native(&["serve"]);
    python(&machine, KERNEL, &["talk-plainly", &server.line()]).expect("done");
    assert!(machine.descriptors() < 600, "{}", machine.descriptors());
    let reason = "the program has its part of the sockets that are carried";
    assert!(machine.list().iter().any(|line| line[6] == reason), "none was refused");
    drop((strangers, deaf));
    let mut server = python(&machine, KERNEL, &["serve"]);
    native(&["talk-plainly", &server.line()]).expect("done");
}

/// The connections of a device are reset. Neighbours go on, and programs that start later run on the kernel.
#[test]
fn the_death_of_the_daemon_is_a_reset_for_a_device_alone() {
    if !has_python() {
        return;
    }
    let mut machine = Machine::start();
    let mut server = native(&["serve"]);
    let mut carried = python(&machine, KERNEL, &["wait", &server.line()]);
    carried.expect("waits");
    let mut echo = machine.python(&["echo"], false);
    let mut neighbour = machine.python(&["rounds", &echo.line(), "200"], false);
    neighbour.expect("begun");
    while machine.list().iter().filter(|line| line[3] == "kernel" || line[3] == "ring").count() < 2 {
        std::thread::sleep(Duration::from_millis(10));
    }
    machine.kill_daemon();
    carried.expect("done");
    neighbour.go_on();
    neighbour.expect("done");
    neighbour.go_on();
    neighbour.expect("ended");
    echo.expect("ended");
    let mut echo = machine.python(&["echo"], false);
    let mut late = machine.python(&["rounds", &echo.line(), "50"], false);
    late.expect("begun");
    late.go_on();
    late.expect("done");
    late.go_on();
    late.expect("ended");
    echo.expect("ended");
}

fn in_namespace(namespace: &Namespace, more: &[String], arguments: &[&str]) -> Program {
    let mut command = namespace.command("/usr/bin/python3", more);
    command.arg(SCRIPT).args(arguments);
    Program::start(command)
}

/// Returns true if this test can have a device; else says what is missing.
fn has_device() -> bool {
    let missing = if !Transport::ALL.iter().any(|transport| transport.name() == "dpdk-tcp") {
        "the feature `dpdk`"
    } else if !Path::new("/dev/net/tun").exists() {
        "/dev/net/tun"
    } else if !rustix::process::geteuid().is_root() {
        "root"
    } else if ["ip", "nft"].iter().any(|program| Command::new(program).arg("-V").output().is_err()) {
        "`ip`, or `nft`"
    } else {
        return true;
    };
    lacks(missing)
}

/// The TCP of the daemon stands behind a TAP, at whose other end is the kernel: programs of the two speak with each other.
#[test]
fn the_kernel_is_the_other_end_of_a_device_of_frames() {
    if !has_python() || !has_device() {
        return;
    }
    let namespace = Namespace::new();
    let port =
        ["BERTHA_DPDK_DEVICE=net_tap0,iface=bsd0", "BERTHA_DPDK_ADDRESS=10.97.0.1/24"].map(String::from);
    let machine = Machine::start_by(namespace.command(env!("CARGO_BIN_EXE_bertha-socketd"), &port));
    let on_device = |more: &[&str]| {
        let mut all = vec![
            format!("LD_PRELOAD={}", library().display()),
            format!("BERTHA_SOCKETS={}", machine.socket().display()),
            "BERTHA_SOCKETS_STACK=device=dpdk-tcp\n".to_owned(),
        ];
        all.extend(more.iter().map(|more| (*more).to_owned()));
        all
    };
    let serves = on_device(&["CARRIED_HOST=10.97.0.1", "CARRIED_BIND=0.0.0.0", "CARRIED_PEER=10.97.0.2"]);
    let first = in_namespace(&namespace, &serves, &["serve"]).line();
    assert!(!first.is_empty());
    // The daemon has made the device for the first server.
    assert!(ip(&["-n", &namespace.0, "addr", "add", "10.97.0.2/24", "dev", "bsd0"]));
    assert!(ip(&["-n", &namespace.0, "link", "set", "bsd0", "up"]));
    let to_device = ["CARRIED_HOST=10.97.0.1", "CARRIED_LONGEST=1472"].map(String::from);
    let at_kernel = ["CARRIED_HOST=10.97.0.2".to_owned(), "CARRIED_PEER=10.97.0.1".to_owned()];
    let to_kernel = on_device(&["CARRIED_HOST=10.97.0.2"]);
    for work in WORKS {
        let mut server = in_namespace(&namespace, &serves, &["serve"]);
        in_namespace(&namespace, &to_device, &[work, &server.line()]).expect("done");
        let mut server = in_namespace(&namespace, &at_kernel, &["serve"]);
        in_namespace(&namespace, &to_kernel, &[work, &server.line()]).expect("done");
    }
    // So are their datagrams, of which the longest fits into a frame.
    let datagrams = |more: &[String], arguments: &[&str]| {
        let mut command = namespace.command("/usr/bin/python3", more);
        command.arg(datagrams::SCRIPT).args(arguments);
        Program::start(command)
    };
    let mut server = datagrams(&serves, &["serve"]);
    datagrams(&to_device, &["talk", &server.line()]).expect("done");
    let mut server = datagrams(&at_kernel, &["serve"]);
    let refused = on_device(&["CARRIED_HOST=10.97.0.2", "CARRIED_LONGEST=1472", "CARRIED_REFUSES=1"]);
    datagrams(&refused, &["talk", &server.line()]).expect("done");
    // Rules of the kernel hold for the device's frames.
    let mut server = in_namespace(&namespace, &serves, &["serve"]);
    let port = server.line();
    let reaches = || {
        let connect = format!("import socket; socket.create_connection(('10.97.0.1', {port}), 2)");
        let mut client = namespace.command("/usr/bin/python3", &[]);
        client.args(["-c", &connect]).stderr(Stdio::null()).status().unwrap().success()
    };
    let nft = |rule: &str| assert!(namespace.command("nft", &[]).arg(rule).status().unwrap().success());
    assert!(reaches());
    nft("add table inet bsd");
    nft("add chain inet bsd in { type filter hook input priority 0; }");
    nft("add rule inet bsd in iifname bsd0 drop");
    assert!(!reaches());
    nft("delete table inet bsd");
    assert!(reaches());
}
