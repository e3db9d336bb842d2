#![no_main]
#![allow(clippy::unwrap_used)]

// The tests of the daemon replay its corpus with the same function.
#[path = "../../../apps/rpcd/tests/attack/any_bytes/grpc.rs"]
mod grpc;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| grpc::call(bytes));
