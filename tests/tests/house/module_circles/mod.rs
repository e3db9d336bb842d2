//! No module of a crate imports, directly or through other modules, from a module that imports from it.
//!
//! `cargo modules dependencies --acyclic` checks the same rule with the whole of rust-analyzer, which takes
//! ten minutes of processor time to build. This test reads the sources: it follows `use` declarations and
//! paths, through re-exports, to the module in which an item is defined. It does not see names that macros
//! make, and leaves tests out. A folder counts as a room: a module and the modules below it may lean on each
//! other, so that `mod.rs` can hold what they share; rooms of one level may not lean on each other in a
//! circle.

mod circles;
mod names;
mod paths;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use tree::Tree;

/// Returns the circles of the crate with this root.
fn circles(root: &Path) -> Vec<String> {
    let tree = Tree::read(root);
    circles::find(&tree, &paths::uses(&tree))
}

/// Returns the folders of the repository's crates.
fn crates() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let members = manifest.split_once("members = [").unwrap().1.split_once("\n]").unwrap().0;
    let named = members.lines().filter_map(|line| line.split('"').nth(1));
    named.map(|member| root.join(member)).collect()
}

#[test]
fn modules_import_in_one_direction() {
    for folder in crates() {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let roots = ["src/lib.rs", "src/main.rs"].map(|root| folder.join(root));
        let found: Vec<_> =
            roots.iter().filter(|root| root.exists()).flat_map(|root| circles(root)).collect();
        assert!(found.is_empty(), "{name} has circles of modules: {found:#?}");
    }
}

/// The check above can fail: it finds the circles of each kind in a small crate.
#[test]
fn circles_of_each_kind_are_found() {
    let root = std::env::temp_dir().join(format!("bertha-circles-{}", std::process::id()));
    let files = [
        ("lib.rs", "mod a; mod b; mod c; mod d; mod e; mod room; pub use d::D;"),
        // This circle comes from an import, and from a path through a re-export.
        ("a.rs", "use crate::b::B; pub struct A(B);"),
        ("b.rs", "pub struct B; fn f() { let _ = crate::room::Shared; }"),
        ("c.rs", "pub struct C; fn f() -> crate::D { loop {} }"),
        ("d.rs", "pub struct D; fn f() { vec![super::c::C]; }"),
        // This use is in a test alone.
        ("e.rs", "pub struct E; #[cfg(test)] mod tests { use crate::a::A; }"),
        ("room/mod.rs", "mod deep; pub use deep::Shared; pub struct Here; use crate::e::E;"),
        ("room/deep.rs", "use super::Here; pub struct Shared(Here); fn f(_: crate::a::A) {}"),
    ];
    for (file, text) in files {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let found = circles(&root.join("lib.rs"));
    fs::remove_dir_all(&root).unwrap();
    assert_eq!(found, ["crate: a, b, room", "crate: c, d"]);
}
