//! What a test needs of this machine: one that lacks something says so by its name and is left out, and fails in CI.

use rustix::process::{Resource, Rlimit, geteuid, getrlimit, setrlimit};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// The path of Python itself, and not of a script that stands before it.
pub(crate) const PYTHON: &str = "/usr/bin/python3";

/// Tells that the test is left out, as something is not there, and returns false.
pub(crate) fn lacks(what: &str) -> bool {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "must not be skipped in CI: {what} is not there");
    let thread = std::thread::current();
    // Not by a macro, whose words a test that passes keeps for itself.
    let _ = writeln!(std::io::stderr(), "SKIPPED {}: {what} is not there", thread.name().unwrap_or("a test"));
    false
}

pub(crate) fn has_python() -> bool {
    Path::new(PYTHON).exists() || lacks(PYTHON)
}

/// Returns true if a program is there.
pub(crate) fn has(program: &str) -> bool {
    let started = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    started.is_ok() || lacks(program)
}

/// Returns true if this process can act as other users, and has namespaces of its own.
pub(crate) fn has_root() -> bool {
    geteuid().is_root() || lacks("root")
}

/// Lets this process and those that it starts have as many descriptors as they may. Returns true if these are so many.
pub(crate) fn has_descriptors(count: u64) -> bool {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).unwrap();
    limit.maximum.is_none_or(|most| most >= count) || lacks(&format!("a limit of {count} descriptors"))
}

/// Returns the number that a variable of the environment has for a long night, or the one of a short run.
pub(crate) fn number(variable: &str, short: u64) -> u64 {
    std::env::var(variable).map_or(short, |text| text.parse().expect("a number"))
}
