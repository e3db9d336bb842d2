//! Programs in C against the library, as a user builds them: with the header, the library and nothing else.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests panic to fail")]

mod installed;

use installed::{build, built, compile, prefix, start};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Returns a program of the folder `programs`.
fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name).with_extension("c")
}

fn run(name: &str, arguments: &[&str]) {
    installed::run(&prefix(), &source(name), arguments);
}

/// Returns a Unix address in a folder.
fn unix(folder: &TempDir) -> String {
    format!("unix:{}", folder.path().join("socket").display())
}

#[test]
fn each_datapath_echoes() {
    let folder = tempfile::tempdir().unwrap();
    let socket = unix(&folder);
    for (datapath, address, stack) in [
        ("udp", "127.0.0.1:0", "ordered,reliable"),
        ("udp", "127.0.0.1:0", ""),
        ("tcp", "127.0.0.1:0", "checksum|nothing"),
        ("unix", &*socket, ""),
        ("unix-stream", &*socket, "checksum"),
        ("shm", &*socket, ""),
    ] {
        run("echo", &[datapath, address, stack]);
        let _ = fs::remove_file(folder.path().join("socket"));
    }
}

/// The example of echoes, over ports of two processes that are joined by shared memory.
#[test]
fn ports_of_dpdk_echo() {
    let prefix = prefix();
    let program = prefix.path().join("echo");
    build(&prefix, &Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/echo.c"), &program);
    for datapath in ["dpdk", "dpdk-tcp"] {
        let of = |role: &str, address: &str| {
            let socket = prefix.path().join("memif");
            let device =
                format!("net_memif0,role={role},id=0,socket={},socket-abstract=no", socket.display());
            let mut command = Command::new(&program);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.env("BERTHA_DPDK_DEVICE", device).env("BERTHA_DPDK_ADDRESS", address);
            command
        };
        let mut serving =
            of("server", "10.0.0.1/24").args(["serve", datapath, "10.0.0.1:5000"]).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(serving.stdout.take().unwrap()).read_line(&mut address).unwrap();
        if address.is_empty() {
            let told = serving.wait_with_output().unwrap().stderr;
            let told = String::from_utf8_lossy(&told);
            let lacks = ["is no datapath", "DPDK is not installed"].iter().any(|lack| told.contains(lack));
            assert!(lacks && std::env::var("CI").as_deref() != Ok("true"), "{datapath}: {told}");
            eprintln!("SKIPPED {datapath}: {told}");
            return;
        }
        let asked =
            of("client", "10.0.0.2/24").args(["ask", datapath, address.trim(), "one", "two"]).output();
        serving.kill().unwrap();
        serving.wait().unwrap();
        let asked = asked.unwrap();
        assert_eq!(String::from_utf8_lossy(&asked.stdout), "one\ntwo\n", "{datapath}: {asked:?}");
    }
}

#[test]
fn ends_with_certificates_know_each_other() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["server", "client", "stranger"] {
        let made = rcgen::generate_simple_self_signed([format!("{name}.test")]).unwrap();
        fs::write(folder.path().join(format!("{name}.pem")), made.cert.pem()).unwrap();
        fs::write(folder.path().join(format!("{name}.key")), made.signing_key.serialize_pem()).unwrap();
    }
    run("certificates", &[&*folder.path().to_string_lossy()]);
}

#[test]
fn hostile_arguments_are_codes() {
    run("hostile", &[]);
}

#[test]
fn handles_that_are_none_are_codes_in_every_thread() {
    run("handles", &[]);
}

#[test]
fn a_child_of_fork_is_refused_with_the_reason() {
    run("forks", &[]);
}

#[test]
fn connections_that_are_released_leave_no_descriptor() {
    run("many", &[]);
}

#[test]
fn connections_that_are_closed_leave_their_address() {
    let folder = tempfile::tempdir().unwrap();
    for (datapath, stack) in [("udp", "ordered,reliable"), ("tcp", "")] {
        run("closed", &[datapath, "127.0.0.1:0", stack]);
    }
    for (datapath, stack) in [("unix", "ordered,reliable"), ("unix-stream", ""), ("shm", "")] {
        run("closed", &[datapath, &unix(&folder), stack]);
        let _ = fs::remove_file(folder.path().join("socket"));
    }
}

#[test]
fn clients_that_are_closed_leave_no_descriptor() {
    run("closed_clients", &[]);
}

#[test]
fn bursts_and_buffers_go_without_copies() {
    run("bursts", &[]);
}

#[test]
fn an_event_loop_never_waits_in_a_call() {
    run("event_loop", &["udp"]);
    run("event_loop", &["tcp"]);
}

#[test]
fn what_was_taken_arrives_once_and_what_was_not_never() {
    run("pressure", &[]);
}

#[test]
fn a_stack_changes_while_messages_flow() {
    run("changes", &[]);
}

#[test]
fn a_callback_answers_calls_over_each_kind_of_datapath() {
    let folder = tempfile::tempdir().unwrap();
    run("calls", &["tcp", "127.0.0.1:0", "checksum|nothing"]);
    run("calls", &["udp", "127.0.0.1:0", "at-most-once,reliable"]);
    run("calls", &["shm", &unix(&folder), ""]);
}

#[test]
fn calls_that_are_accepted_end_once_each() {
    run("calls_accepted", &[]);
}

#[test]
fn a_thousand_calls_in_flight_end_once_each() {
    run("calls_in_flight", &[]);
}

/// A further topic, of a service, is in BERTHA_C_TOPIC; the library has it by the feature of its service.
#[test]
fn messages_of_a_topic_are_acknowledged_after_the_work() {
    run("topics", &["memory:orders"]);
    if let Ok(address) = std::env::var("BERTHA_C_TOPIC") {
        run("topics", &[&address]);
    }
}

#[test]
fn an_installed_library_is_found_by_pkg_config() {
    let prefix = tempfile::tempdir().unwrap();
    let install = Path::new(env!("CARGO_MANIFEST_DIR")).join("install");
    assert!(Command::new(install).arg(prefix.path()).arg(built()).status().unwrap().success());
    let asked = Command::new("pkg-config")
        .env("PKG_CONFIG_PATH", prefix.path().join("lib/pkgconfig"))
        .args(["--cflags", "--libs", "bertha"])
        .output();
    let Ok(asked) = asked else {
        assert!(std::env::var_os("CI").is_none(), "pkg-config is missing");
        return;
    };
    let flags = String::from_utf8(asked.stdout).unwrap();
    let path = format!("-Wl,-rpath,{}/lib", prefix.path().display());
    let arguments: Vec<_> = flags.split_whitespace().chain([&*path]).collect();
    let program = prefix.path().join("hostile");
    compile(&source("hostile"), &program, &arguments);
    start(&program, &[]);
}
