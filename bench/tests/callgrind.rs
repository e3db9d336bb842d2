//! Counting instructions of the real binary.

#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};

/// An iteration of `count` is an addition, a comparison, a jump, and a store and load for the black box. Without
/// optimisation every step goes through memory and function calls.
const MIN: f64 = 3.0;
const MAX: f64 = if cfg!(debug_assertions) { 60.0 } else { 8.0 };

/// Counts the instructions of a probe. Returns `None` if valgrind is missing, which is an error in CI.
fn count(probe: &str, iterations: u64) -> Option<Output> {
    let valgrind = Command::new("valgrind").arg("--version").output();
    if valgrind.is_err() && std::env::var_os("CI").is_none() {
        return None;
    }
    let mut program = Command::new(env!("CARGO_BIN_EXE_bertha-bench"));
    Some(program.args(["count", probe, &iterations.to_string()]).output().unwrap())
}

#[test]
fn a_loop_costs_what_its_instructions_say() {
    let cost = |iterations| -> Option<f64> {
        let output = count("count", iterations)?;
        Some(String::from_utf8(output.stdout).unwrap().trim().parse().unwrap())
    };
    let (Some(cost), Some(again)) = (cost(100_000), cost(200_000)) else { return };
    assert!((MIN..=MAX).contains(&cost), "{cost} instructions per iteration");
    assert!((cost - again).abs() < 0.05, "start-up must cancel: {cost} and {again}");
}

#[test]
fn a_probe_that_fails_gives_its_reason() {
    let Some(output) = count("no-such-probe", 1) else { return };
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && error.contains("no probe is called no-such-probe"), "{error}");
}
