//! Counting instructions of the real binary.

#![allow(clippy::unwrap_used)]

use bertha_bench::ErrorKind;
use bertha_bench::instructions::Counter;

/// An iteration of `count` is an addition, a comparison, a jump, and a store and load for the black box. Without
/// optimisation every step goes through memory and function calls.
const FEWEST: f64 = 3.0;
const MOST: f64 = if cfg!(debug_assertions) { 60.0 } else { 8.0 };

#[test]
fn a_loop_costs_what_its_instructions_say() {
    let counter = Counter::of(env!("CARGO_BIN_EXE_bertha-bench"));
    let cost = match counter.per_iteration("count", 100_000) {
        Err(error) if error.kind() == ErrorKind::NoValgrind && std::env::var_os("CI").is_none() => return,
        result => result.unwrap(),
    };
    assert!((FEWEST..=MOST).contains(&cost), "{cost} instructions per iteration");
    let again = counter.per_iteration("count", 200_000).unwrap();
    assert!((cost - again).abs() < 0.05, "start-up must cancel: {cost} and {again}");
}

#[test]
fn a_probe_that_fails_gives_its_reason() {
    let counter = Counter::of(env!("CARGO_BIN_EXE_bertha-bench"));
    let error = counter.per_iteration("no-such-probe", 1).unwrap_err();
    if error.kind() != ErrorKind::NoValgrind || std::env::var_os("CI").is_some() {
        assert_eq!(error.kind(), ErrorKind::Valgrind);
        assert!(error.to_string().contains("no probe is called no-such-probe"), "{error}");
    }
}
