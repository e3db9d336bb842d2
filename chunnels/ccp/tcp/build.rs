//! The build script compiles the program for the kernel, for the feature `bpf` alone.

use std::error::Error;
use std::path::Path;
use std::process::Command;

/// The compilers that are tried, the first first. The second is the oldest one that is tested.
const COMPILERS: [&str; 2] = ["clang", "clang-14"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=bpf");
    println!("cargo:rerun-if-env-changed=BPF_CLANG");
    if std::env::var_os("CARGO_FEATURE_BPF").is_none() {
        return Ok(());
    }
    let chosen = std::env::var("BPF_CLANG").ok();
    let mut compilers = chosen.as_deref().into_iter().chain(COMPILERS);
    let is_there = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let Some(compiler) = compilers.find(is_there) else {
        return Err("the feature `bpf` needs clang: install it, or name it in BPF_CLANG".into());
    };
    let object = Path::new(&std::env::var("OUT_DIR")?).join("ccp.bpf.o");
    let compiled = Command::new(compiler)
        // The third version of the instructions has the atomic ones.
        .args(["-O2", "-g", "-Wall", "-Werror", "-target", "bpf", "-mcpu=v3", "-c", "bpf/ccp.bpf.c", "-o"])
        .arg(&object)
        .status()?;
    if compiled.success() { Ok(()) } else { Err(format!("{compiler} does not compile the program").into()) }
}
