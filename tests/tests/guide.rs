//! What the guide shows is what the crates in `tests/outside` say.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests panic to fail")]

use std::fs;
use std::path::Path;

/// A piece of code in the guide, and the file that the text in front of it names.
struct Shown {
    file: String,
    code: String,
}

fn shown(guide: &str) -> Vec<Shown> {
    let (mut file, mut shown) = (String::new(), Vec::new());
    let mut lines = guide.lines();
    while let Some(line) = lines.next() {
        // Every other piece between backticks is code.
        for word in line.split('`').skip(1).step_by(2) {
            if word.contains('/') && (word.ends_with(".rs") || word.ends_with(".toml")) {
                file = word.to_owned();
            }
        }
        if line.starts_with("```rust") || line.starts_with("```toml") {
            let code: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
            shown.push(Shown { file: file.clone(), code: code.join("\n") });
        }
    }
    shown
}

#[test]
fn every_piece_of_code_stands_in_the_file_that_it_is_said_to_be_from() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = fs::read_to_string(root.join("../src/guide/pass.md")).unwrap();
    let shown = shown(&guide);
    assert!(shown.len() > 10, "the guide shows {} pieces", shown.len());
    for Shown { file, code } in shown {
        let source = fs::read_to_string(root.join("outside").join(&file))
            .unwrap_or_else(|error| panic!("the guide names {file}: {error}"));
        assert!(source.contains(&code), "{file} has no longer what the guide shows:\n{code}");
    }
}
