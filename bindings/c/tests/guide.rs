//! The program of the guide.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    dead_code,
    reason = "tests panic to fail, and share what they need"
)]

mod installed;

use std::fs;
use std::path::Path;

#[test]
fn the_program_of_the_guide_prints_what_it_says() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../src/guide/c.md");
    let guide = fs::read_to_string(guide).unwrap();
    let program = guide.split("```c\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let prefix = installed::prefix();
    let source = prefix.path().join("greet.c");
    fs::write(&source, program).unwrap();
    assert_eq!(installed::run(&prefix, &source, &[]), "hello\n");
}
