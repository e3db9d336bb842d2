//! The guide `observing` lists the targets of all events, and texts that the code has.

use std::collections::BTreeSet;
use std::fs::{read_dir, read_to_string};
use std::path::Path;

/// Adds the sources below a folder, without the tests.
fn add_sources(folder: &Path, into: &mut String) {
    for entry in read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy();
        if path.is_dir() && !["target", "tests", "models"].contains(&&*name) && !name.starts_with('.') {
            add_sources(&path, into);
        } else if name.ends_with(".rs") {
            into.push_str(&read_to_string(&path).unwrap());
        }
    }
}

/// Returns the targets that stand as literals in a source.
fn targets(source: &str) -> BTreeSet<&str> {
    let is_of_name = |letter: char| letter.is_ascii_lowercase() || letter == '_' || letter == ':';
    let literals = source.split("\"bertha::").skip(1).filter_map(|rest| rest.split_once('"'));
    literals.map(|(name, _)| name).filter(|name| !name.is_empty() && name.chars().all(is_of_name)).collect()
}

#[test]
fn the_guide_lists_the_targets_and_the_events_of_the_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut source = String::new();
    add_sources(&root, &mut source);
    let guide = read_to_string(root.join("src/guide/observing.md")).unwrap();
    let rows: Vec<_> = guide.lines().filter(|line| line.starts_with("| `bertha::")).collect();
    let mut listed = BTreeSet::new();
    for row in &rows {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [target, level, event, fields] = cells[..] else { panic!("not four cells: {row}") };
        listed.insert(target.trim_matches('`').trim_start_matches("bertha::"));
        assert!(["trace", "debug", "info", "warn", "error", "span"].contains(&level), "{row}");
        assert!(source.contains(event), "no event has the text of {row}");
        for field in fields.split('`').skip(1).step_by(2) {
            assert!(source.contains(field), "no event has the field `{field}` of {row}");
        }
    }
    assert!(rows.len() > 30, "the table is cut");
    assert_eq!(listed, targets(&source));
}
