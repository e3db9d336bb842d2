#![no_main]

// The tests of the application replay its corpus with the same function.
#[path = "../../../apps/kvstore/tests/resp/any_bytes.rs"]
mod any_bytes;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_bytes::stream(bytes));
