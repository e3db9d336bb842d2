//! The cost of layers in the default release profile of a stranger's crate: 16 codegen units, and no
//! optimisation across crates.
//!
//! The program `tests/outside/layers` is in a workspace of its own, which sets no profiles.

use crate::harness::Counter;
use crate::report::{self, Budget, Report};
use crate::{Error, ErrorKind};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Depths of its stacks.
const DEPTHS: [usize; 2] = [0, 16];

/// Number of times that an echo passes each layer.
const CALLS: f64 = 4.0;

/// Budget of layers that pass calls through: no instruction, in any profile.
const NO_INSTRUCTION: Budget = Budget::AtMost(0.1);

/// Builds the program and adds its rows.
///
/// # Errors
/// [`ErrorKind::Compiler`] when the program does not build; errors of the counter.
pub(crate) fn instructions(report: &mut Report, echoes: u64) -> Result<(), Error> {
    let program = build()?;
    let name = "a user's default release profile, memory, an echo";
    let count = |depth: usize| {
        let arguments = [OsString::from(depth.to_string())];
        Counter::of_program(&program, arguments).instructions(echoes)
    };
    let [none, sixteen] = DEPTHS.map(count);
    let Some(none) = report.count(&format!("{name}, 0 layers, both ends"), none)? else { return Ok(()) };
    let added = ((sixteen? - none) / 16.0 / CALLS * 100.0).round() / 100.0 + 0.0;
    report.bounded(format!("{name}, per call and layer of 16"), added, "instructions", NO_INSTRUCTION);
    Ok(())
}

fn build() -> Result<PathBuf, Error> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/outside/Cargo.toml");
    let target = report::directory().join("stranger");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let output = Command::new(cargo)
        .args(["build", "--release", "--quiet", "--locked", "--package", "layers", "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(&target)
        .env_remove("RUSTFLAGS")
        .stdin(Stdio::null())
        .output()
        .map_err(Error::while_doing(ErrorKind::Compiler, "starting cargo"))?;
    if !output.status.success() {
        let log = String::from_utf8_lossy(&output.stderr);
        return Err(Error::new(ErrorKind::Compiler, format!("tests/outside/layers does not build: {log}")));
    }
    Ok(target.join("release/layers"))
}
