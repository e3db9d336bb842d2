//! The compile time of a deep stack in generic code.
//!
//! The module generates a small program that depends on this workspace, builds it once so that its
//! dependencies are there, and then times the build of the program alone, code generation and linking
//! included.

use crate::{Error, ErrorKind};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io};

/// A place for programs that connect with a deep stack.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    directory: PathBuf,
    workspace: PathBuf,
}

/// Number of builds of which the shortest counts.
const REPETITIONS: usize = 3;

impl Program {
    /// Creates a place for programs in `directory`, against the workspace that this crate was built from.
    ///
    /// # Errors
    /// [`ErrorKind::Compiler`] when the sources of the workspace are not there any more.
    pub(crate) fn in_directory(directory: impl Into<PathBuf>) -> Result<Self, Error> {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let workspace = workspace.canonicalize().map_err(Error::while_doing(
            ErrorKind::Compiler,
            format!("looking for the sources in {}", workspace.display()),
        ))?;
        Ok(Self { directory: directory.into(), workspace })
    }

    /// Returns the shortest time of a few builds of a program with this source.
    ///
    /// The shortest time counts, because other work of the machine only adds to it.
    ///
    /// # Errors
    /// [`ErrorKind::Compiler`] when the program can't be written or does not compile.
    pub(crate) fn build_time(&self, source: &str) -> Result<Duration, Error> {
        let mut times = Vec::with_capacity(REPETITIONS);
        // The first build also builds the dependencies.
        self.build_anew(source)?;
        for _ in 0..REPETITIONS {
            times.push(self.build_anew(source)?);
        }
        Ok(times.into_iter().min().unwrap_or_default())
    }

    fn build_anew(&self, source: &str) -> Result<Duration, Error> {
        self.write(source).map_err(Error::while_doing(
            ErrorKind::Compiler,
            format!("writing a program to {}", self.directory.display()),
        ))?;
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
        let started = Instant::now();
        let output = Command::new(cargo)
            .args(["build", "--offline", "--quiet"])
            .current_dir(&self.directory)
            // The variable overrides a setting of the surrounding cargo.
            .env("CARGO_TARGET_DIR", self.directory.join("target"))
            .env_remove("RUSTFLAGS")
            // No part of the previous build may be used again.
            .env("CARGO_INCREMENTAL", "0")
            .stdin(Stdio::null())
            .output()
            .map_err(Error::while_doing(ErrorKind::Compiler, "starting cargo"))?;
        let took = started.elapsed();
        if output.status.success() {
            return Ok(took);
        }
        let log = String::from_utf8_lossy(&output.stderr);
        Err(Error::new(ErrorKind::Compiler, format!("a program with a deep stack does not compile: {log}")))
    }

    fn write(&self, source: &str) -> io::Result<()> {
        fs::create_dir_all(self.directory.join("src"))?;
        fs::write(self.directory.join("Cargo.toml"), manifest(&self.workspace))?;
        // The program has the workspace's versions, which are there already.
        fs::copy(self.workspace.join("Cargo.lock"), self.directory.join("Cargo.lock"))?;
        fs::write(self.directory.join("src/main.rs"), source)
    }
}

fn manifest(workspace: &Path) -> String {
    let workspace = workspace.display();
    format!(
        r#"[package]
name = "compile-time"
version = "0.0.0"
edition = "2024"

[workspace]

[dependencies]
bertha-chunnels = {{ path = "{workspace}/chunnels", default-features = false, features = ["nothing"] }}
bertha-core = {{ path = "{workspace}/bertha-core" }}
bertha-datapath-sim = {{ path = "{workspace}/datapaths/sim" }}
bertha-negotiation = {{ path = "{workspace}/negotiation" }}
"#
    )
}

/// Returns a generic client with a stack of this number of Chunnels.
pub(crate) fn client(layers: usize) -> String {
    let stack = vec!["Nothing"; layers].join(", ");
    format!(
        r#"use bertha_chunnels::Nothing;
use bertha_core::{{Buf, Connection, Error, make_stack}};
use bertha_datapath_sim::Sim;
use bertha_negotiation::{{Negotiate, Runs}};

async fn run<S, D>(stack: S, datapath: D) -> Result<(), Error>
where
    S: Negotiate + Sync,
    D: Runs<S, Out: Connection<Data = Buf>>,
{{
    let connection = stack.connect(datapath, ([10, 0, 0, 2], 4242)).await?;
    connection.send(Buf::copy_of(b"hello", 0)?).await?;
    connection.recv().await?;
    connection.close().await
}}

fn main() -> Result<(), Error> {{
    let mut sim = Sim::new(1);
    let client = sim.network().host([10, 0, 0, 1]);
    sim.run(run(make_stack!({stack}), client))
}}
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_has_as_many_layers_as_it_is_told() {
        assert_eq!(client(31).matches("Nothing,").count() + 1, 31);
        assert!(client(31).contains("make_stack!(Nothing, Nothing"));
    }
}
