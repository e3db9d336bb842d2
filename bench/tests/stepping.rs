//! Counting the real binary's instructions one by one.

#![allow(clippy::unwrap_used)]

use bertha_bench::ErrorKind;
use bertha_bench::instructions::Counter;
use bertha_bench::stepping::Stepper;

const BINARY: &str = env!("CARGO_BIN_EXE_bertha-bench");

#[test]
fn a_loop_has_as_many_instructions_as_callgrind_says() {
    let stepper = Stepper::of(BINARY);
    let stepped = stepper.per_iteration("count", 1000).unwrap();
    assert_eq!(stepper.per_iteration("count", 1000).unwrap(), stepped, "the count must not vary");
    let counted = match Counter::of(BINARY).per_iteration("count", 100_000) {
        Err(error) if error.kind() == ErrorKind::NoValgrind && std::env::var_os("CI").is_none() => return,
        result => result.unwrap(),
    };
    // The marks themselves are counted once.
    assert!((stepped - counted).abs() < 0.5, "{stepped} and {counted} instructions per iteration");
}

#[test]
fn a_probe_that_fails_gives_its_reason() {
    let error = Stepper::of(BINARY).per_iteration("no-such-probe", 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tracer);
    assert!(error.to_string().contains("no probe is called no-such-probe"), "{error}");
}

#[test]
fn a_probe_without_marks_has_no_count() {
    let error = Stepper::of(BINARY).per_iteration("echo-tokio", 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tracer);
    assert!(error.to_string().contains("does not mark"), "{error}");
}
