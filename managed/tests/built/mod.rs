//! Libraries of engines for tests.
#![allow(dead_code, reason = "no test uses all of it")]
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests panic to fail, and say what they skip")]

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the path in this folder of the example in Rust, which is built with the tests that depend on it.
pub(crate) fn in_rust(folder: &Path) -> PathBuf {
    let built = std::env::current_exe().unwrap().with_file_name("libbertha_example_engine.so");
    let library = folder.join("pace-in-rust.so");
    std::fs::copy(&built, &library).unwrap_or_else(|error| panic!("{}: {error}", built.display()));
    set_mode(&library, 0o755);
    library
}

/// Sets the rights of a file, which those of the build's user may have made wider than a daemon takes.
pub(crate) fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Builds the example in C, and returns its path in this folder. Returns `None` if there is no compiler.
pub(crate) fn in_c(folder: &Path) -> Option<PathBuf> {
    library(&root().join("examples/engine/pace.c"), folder.join("pace.so"), &[])
}

/// Builds an engine with mistakes, of which definitions of the preprocessor choose some, and settings others.
pub(crate) fn wrong(folder: &Path, name: &str, definitions: &[&str]) -> Option<PathBuf> {
    library(&root().join("managed/tests/built/wrong.c"), folder.join(name), definitions)
}

fn library(source: &Path, to: PathBuf, definitions: &[&str]) -> Option<PathBuf> {
    if !compile(source, &to, &[&["-shared", "-fPIC"], definitions].concat()) {
        return None;
    }
    set_mode(&to, 0o755);
    Some(to)
}

/// Compiles a program in C, which finds the header. Returns false if there is no compiler.
pub(crate) fn compile(source: &Path, to: &Path, options: &[&str]) -> bool {
    let mut command = Command::new("cc");
    command.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-I"]);
    command.arg(root().join("managed/plugin")).arg("-o").arg(to).arg(source);
    match command.args(options).output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            true
        }
        Err(error) => {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "must not be skipped in CI: {error}");
            eprintln!("SKIPPED: engines in C: there is no compiler cc: {error}");
            false
        }
    }
}

/// Returns the folder of the repository, which is above that of each crate with such tests.
fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().find(|folder| folder.join("examples/engine").exists()).unwrap().to_owned()
}
