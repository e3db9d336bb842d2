#![no_main]

// The tests of the library for C replay its corpus with the same function.
#[path = "../../../bindings/c/tests/hostile/any_arguments.rs"]
mod any_arguments;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_arguments::calls(bytes));
