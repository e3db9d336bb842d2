//! The flows over libccp's datapath, by a program of `tests/libccp`, which is a workspace of its own, since
//! libccp's bindings need libclang.

use super::Seen;
use crate::report;
use crate::{Error, ErrorKind};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Setting under which blocks of memory are clear: libccp assumes that memory is clear and does not clear it.
/// Blocks of this size come from the system, which clears them, as long as the threshold does not move.
const CLEARED: (&str, &str) = ("MALLOC_MMAP_THRESHOLD_", "131072");

/// Builds the program.
///
/// # Errors
/// [`ErrorKind::Compiler`] when it does not build: there is no libclang, for example.
pub(super) fn build() -> Result<PathBuf, Error> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/libccp/Cargo.toml");
    let target = report::directory().join("libccp");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let output = Command::new(cargo)
        .args(["build", "--release", "--quiet", "--locked", "--example", "windows", "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(&target)
        .stdin(Stdio::null())
        .output()
        .map_err(Error::while_doing(ErrorKind::Compiler, "starting cargo"))?;
    if !output.status.success() {
        let log = String::from_utf8_lossy(&output.stderr);
        return Err(Error::new(ErrorKind::Compiler, format!("tests/libccp does not build: {log}")));
    }
    Ok(target.join("release/examples/windows"))
}

/// Runs the algorithm with this name over a link of `rate` bytes per second.
///
/// # Errors
/// [`ErrorKind::Bertha`] when the program fails.
pub(super) fn run(program: &Path, algorithm: &str, rate: u64, seconds: u64) -> Result<Seen, Error> {
    let failed = || format!("a flow of {algorithm} with libccp");
    let output = Command::new(program)
        .args([algorithm, &rate.to_string(), &seconds.to_string()])
        .env(CLEARED.0, CLEARED.1)
        .stdin(Stdio::null())
        .output()
        .map_err(Error::while_doing(ErrorKind::Bertha, failed()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let sample = |line: &str| {
        let mut numbers = line.split(' ').map(|number| number.parse::<f64>().ok());
        Some([numbers.next()??, numbers.next()??, numbers.next()??, numbers.next()??])
    };
    let samples: Option<Vec<_>> = text.lines().map(sample).collect();
    let Some(samples) = samples.filter(|samples| output.status.success() && samples.len() > 5) else {
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(Error::new(ErrorKind::Bertha, failed()).because(log));
    };
    // The beginning is left out, as for the other transports.
    let late = &samples[samples.len() / 5..];
    let ([start, .., before], [end, .., after]) = (late[0], late[late.len() - 1]);
    Ok(Seen {
        used: (after - before) / (end - start) / rate as f64,
        delays: late.iter().map(|[_, _, queue, _]| *queue).collect(),
        windows: samples.iter().map(|[at, window, ..]| (*at, *window)).collect(),
    })
}
