//! Processes beside a scheduler.

use bertha_datapath_caladan::AVAILABLE;
use bertha_tests::{skip, skip_anywhere};
use std::path::Path;
use std::process::Command;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/caladan");

/// Set for processes that a test runs beside the scheduler.
const BESIDE: &str = "BERTHA_TEST_BESIDE_CALADAN";

/// Runs the ignored test `name` beside a scheduler with this policy, with some variables that are paths.
pub(crate) fn run_beside(name: &str, policy: &str, paths: &[(&str, &Path)]) {
    if !AVAILABLE {
        // `scripts/test` fails in CI if there is a source of Caladan and no build.
        return skip_anywhere(&format!(
            "{name}: it needs Caladan, as scripts/caladan builds it from its source"
        ));
    }
    let root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    if !root || !Path::new("/dev/fuse").exists() {
        return skip(&format!("{name}: it needs root and /dev/fuse"));
    }
    let mut command = Command::new(SCRIPT);
    command.arg("run").arg(std::env::current_exe().unwrap());
    command
        .args(["--exact", name, "--ignored", "--nocapture"])
        .env(BESIDE, "1")
        .env("CALADAN_POLICY", policy)
        .envs(paths.iter().copied());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    println!("{said}");
    assert!(output.status.success() && said.contains("1 passed"), "{name} failed beside the scheduler");
}

/// Returns true if this process was started beside the scheduler. `--ignored` on the command line also runs
/// the functions that are meant for such a process alone.
pub(crate) fn is_beside() -> bool {
    std::env::var_os(BESIDE).is_some()
}
