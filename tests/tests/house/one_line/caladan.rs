//! The programs over Caladan, beside its scheduler: with each other, and with the programs over kernel UDP.

use crate::one_line::beside::{is_beside, run_beside};
use crate::one_line::programs::{End, Variables, build, echo, transfer, workload_b};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The one line: the feature in `bertha = { workspace = true, features = [..] }`.
const CALADAN: &str = "bertha/datapath-caladan";

/// The variable with the folder of the programs, for the process beside the scheduler.
const PROGRAMS: &str = "BERTHA_TEST_PROGRAMS";

/// The address of the kernel beside the scheduler.
const KERNEL: &str = "10.77.0.1";

/// Returns the settings of a program at this address.
fn at(address: &str) -> Vec<(String, String)> {
    vec![("BERTHA_CALADAN_ADDRESS".into(), format!("{address}/24"))]
}

#[test]
#[ignore = "builds the programs twice, which takes minutes"]
fn one_line_switches_programs_to_caladan() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/caladan");
    let found = Command::new(script).arg("dir").output().unwrap();
    // Builds of `bertha-caladan-sys` read this variable. Where there is no Caladan, they have stand-ins, and
    // the tests below are skipped.
    let installed = String::from_utf8(found.stdout).unwrap().trim().to_owned();
    let variables: &Variables =
        if found.status.success() { &[("CALADAN_DIR".into(), installed)] } else { &[] };
    let kernel = build("kernel", &[], &[]);
    build("caladan", &[CALADAN], variables);
    run_beside("one_line::caladan::inside", "simple", &[(PROGRAMS, kernel.parent().unwrap())]);
}

#[test]
#[ignore = "run by another test, as a process of its own"]
fn inside() {
    if !is_beside() {
        return;
    }
    let programs = PathBuf::from(std::env::var_os(PROGRAMS).unwrap());
    let (kernel, caladan) = (programs.join("kernel"), programs.join("caladan"));
    fn over<'a>(programs: &'a Path, settings: &'a Variables) -> End<'a> {
        End { programs, settings }
    }
    let (server, client) = (at("10.77.0.2"), at("10.77.0.3"));
    let pairs = [
        ("10.77.0.2", over(&caladan, &server), over(&caladan, &client)),
        ("10.77.0.2", over(&caladan, &server), over(&kernel, &[])),
        (KERNEL, over(&kernel, &[]), over(&caladan, &client)),
    ];
    for (addr, server, client) in pairs {
        workload_b(&format!("{addr}:4242"), server, client);
        transfer(&format!("{addr}:4343"), server, client);
        echo(&format!("{addr}:4444"), server, client);
    }
    // A program that needs the kernel's sockets reports why they do not work here.
    let mut over_tcp = Command::new(caladan.join("file-transfer"));
    over_tcp.args(["receive", ".", "--datapath", "tcp"]).envs(at("10.77.0.2"));
    let output = over_tcp.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("datapath-caladan"), "{said}");
}
