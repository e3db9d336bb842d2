//! The build script compiles the shim and links Caladan, if `CALADAN_DIR` names it; otherwise the crate
//! reports its absence.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The libraries, in the order in which the linker needs them. The list leaves out Caladan's `shim`, which
/// replaces `malloc` and `pthread_*`.
const LIBRARIES: [&str; 3] = ["runtime", "net", "base"];

/// The compiler flags for instructions that Caladan's inline functions use.
const FLAGS: [&str; 7] =
    ["-std=gnu11", "-D_GNU_SOURCE", "-DNDEBUG", "-mfsgsbase", "-mxsavec", "-mssse3", "-msse4.2"];

fn main() {
    println!("cargo:rerun-if-changed=shim");
    println!("cargo:rerun-if-env-changed=CALADAN_DIR");
    println!("cargo:rustc-check-cfg=cfg(caladan)");
    if let Err(error) = link() {
        println!(
            "cargo:warning=built without Caladan ({error}); `scripts/caladan install` builds one, and `export CALADAN_DIR=$(scripts/caladan dir)` links it"
        );
    }
}

fn link() -> Result<(), Box<dyn Error>> {
    let caladan = std::env::var_os("CALADAN_DIR").ok_or("CALADAN_DIR is not set")?;
    let (caladan, out) =
        (PathBuf::from(caladan), PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?));
    if std::env::var("TARGET")? != "x86_64-unknown-linux-gnu" {
        return Err("it runs on x86-64 Linux alone".into());
    }
    for library in LIBRARIES {
        let name = format!("lib{library}.a");
        let archive = caladan.join(&name);
        println!("cargo:rerun-if-changed={}", archive.display());
        if !archive.exists() {
            return Err(format!("there is no {} in CALADAN_DIR", archive.display()).into());
        }
        collect_variables(&archive, &out.join(&name))?;
    }
    let mut shim = cc::Build::new();
    for flag in FLAGS {
        shim.flag(flag);
    }
    // Caladan's headers are not free of warnings.
    shim.include(caladan.join("inc")).file("shim/shim.c").opt_level(3).warnings(false);
    shim.try_compile("bertha_caladan_shim")?;
    println!("cargo:rustc-link-search=native={}", out.display());
    for library in LIBRARIES {
        println!("cargo:rustc-link-lib=static={library}");
    }
    println!("cargo:rustc-link-lib=numa");
    println!("cargo:rustc-cfg=caladan");
    Ok(())
}

/// Copies an archive so that the linker defines symbols for the beginning and the end of the variables of
/// kernel threads. Caladan has a linker script for this, which every program would have to repeat. Around a
/// section whose name is an identifier, linkers define such symbols by themselves.
fn collect_variables(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    let status = Command::new("objcopy")
        .args(["--rename-section", ".perthread=perthread"])
        .args(["--redefine-sym", "__perthread_start=__start_perthread"])
        .args(["--redefine-sym", "__perthread_end=__stop_perthread"])
        .args([from, to])
        .status()
        .map_err(|error| format!("objcopy can't be run: {error}"))?;
    if !status.success() {
        return Err(format!("objcopy does not take {}", from.display()).into());
    }
    Ok(())
}
