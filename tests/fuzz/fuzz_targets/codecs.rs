#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bertha_tests::fuzz_targets::codecs::messages(bytes));
