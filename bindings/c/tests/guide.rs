//! The programs of the guide.
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
fn the_programs_of_the_guide_print_what_it_says() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../src/guide/c.md");
    let guide = fs::read_to_string(guide).unwrap();
    let programs: Vec<_> =
        guide.split("```c\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let prefix = installed::prefix();
    for (program, printed) in programs.iter().zip(["hello\n", "a book\n", "olleh\n"]) {
        let source = prefix.path().join("program.c");
        fs::write(&source, program).unwrap();
        assert_eq!(installed::run(&prefix, &source, &[]), printed);
    }
    assert_eq!(programs.len(), 3);
}
