//! The code in the README and the guides equals the code of the crates in `tests/outside`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A piece of code in a text, and the file that the text in front of it names.
struct Shown {
    file: String,
    code: String,
}

/// Returns the shown code that is no test of the documentation.
fn shown(text: &str) -> Vec<Shown> {
    let (mut file, mut shown) = (String::new(), Vec::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        // Every other piece between backticks is code.
        for word in line.split('`').skip(1).step_by(2) {
            if word.ends_with(".rs") || word.ends_with(".toml") {
                file = word.to_owned();
            }
        }
        if ["```rust,ignore", "```toml"].contains(&line) {
            let code: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
            shown.push(Shown { file: file.clone(), code: code.join("\n") });
        }
    }
    shown
}

/// Compares a text with the sources. Returns the number of pieces of code in the text.
fn check(text: &str) -> usize {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shown = shown(&fs::read_to_string(root.join("..").join(text)).unwrap());
    for Shown { file, code } in &shown {
        let source = fs::read_to_string(root.join("outside").join(file))
            .unwrap_or_else(|error| panic!("{text} names {file}: {error}"));
        assert!(source.contains(code), "{text} shows what is not in {file}:\n{code}");
    }
    shown.len()
}

#[test]
fn every_piece_of_code_stands_in_the_file_that_it_is_said_to_be_from() {
    assert!(check("src/guide/chunnel.md") > 3);
    assert!(check("src/guide/pass.md") > 9);
    assert_eq!(check("README.md"), 1);
}

/// The facade's table of features and its manifest name the same features.
#[test]
fn every_feature_is_in_the_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let (_, features) = manifest.split_once("\n[features]\n").unwrap();
    let (features, _) = features.split_once("\n[").unwrap();
    let declared = features.lines().filter(|line| !line.starts_with([' ', '#', ']']));
    let declared = declared.filter_map(|line| Some(line.split_once(" = ")?.0));
    let declared: BTreeSet<_> = declared.filter(|name| !["default", "_datapath"].contains(name)).collect();
    let text = fs::read_to_string(root.join("src/lib.rs")).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("//! | `"));
    let names =
        rows.filter_map(|row| row.split_once(" |")).flat_map(|(names, _)| names.split('`').step_by(2));
    let shown: BTreeSet<_> = names.filter(|name| !name.is_empty()).collect();
    assert_eq!(shown, declared);
}
