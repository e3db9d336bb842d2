//! The library as it is installed, and programs that are compiled against it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The folder with the library, which lies beside the program of the test.
pub(crate) fn built() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

/// Returns a folder in which the library lies as it is installed.
pub(crate) fn prefix() -> TempDir {
    let prefix = tempfile::tempdir().unwrap();
    let library = prefix.path().join("lib");
    fs::create_dir(&library).unwrap();
    for name in ["libbertha.so", "libbertha.so.0"] {
        symlink(built().join("libbertha_c.so"), library.join(name)).unwrap();
    }
    symlink(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"), prefix.path().join("include")).unwrap();
    prefix
}

/// Compiles a program with these arguments.
pub(crate) fn compile(source: &Path, program: &Path, arguments: &[&str]) {
    let outcome = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-g", "-D_GNU_SOURCE", "-pthread"])
        .arg("-o")
        .arg(program)
        .arg(source)
        .args(arguments)
        .output()
        .unwrap();
    assert!(outcome.status.success(), "{}", String::from_utf8_lossy(&outcome.stderr));
}

/// Compiles a program against the library.
pub(crate) fn build(prefix: &TempDir, source: &Path, program: &Path) {
    let root = prefix.path().display();
    let [include, library, path] =
        [format!("-I{root}/include"), format!("-L{root}/lib"), format!("-Wl,-rpath,{root}/lib")];
    compile(source, program, &[&include, &library, &path, "-lbertha"]);
}

/// Compiles and starts a program, and returns what it prints.
pub(crate) fn run(prefix: &TempDir, source: &Path, arguments: &[&str]) -> String {
    let program = prefix.path().join("program");
    build(prefix, source, &program);
    start(&program, arguments)
}

/// Starts a program, which fails if something is not as it should be or takes two minutes.
pub(crate) fn start(program: &Path, arguments: &[&str]) -> String {
    let outcome = Command::new("timeout").arg("120").arg(program).args(arguments).output().unwrap();
    let [out, err] =
        [&outcome.stdout, &outcome.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(outcome.status.success(), "{arguments:?}: {}\n{out}{err}", outcome.status);
    out
}
