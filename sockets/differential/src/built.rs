//! A program in C of this crate, and a run of it.

use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longest run of a program. The interpreter itself ends a step that takes too long.
const LONGEST: Duration = Duration::from_secs(60);

/// A built program, in a folder of its own.
#[derive(Debug)]
pub(crate) struct Built {
    folder: TempDir,
}

/// The words of a program in a run: its lines, and at last how it ends unless it ends well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The lines.
    pub lines: Vec<String>,
}

impl Built {
    /// Builds the program of a folder of this crate with the C compiler of the system.
    ///
    /// # Errors
    /// Errors of the file system and of starting the compiler; [`io::ErrorKind::Other`] with the compiler's words.
    pub(crate) fn of(folder: &str) -> io::Result<Self> {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let built = Self { folder: tempfile::tempdir()? };
        let mut compiler = Command::new("cc");
        // Programs of a distribution call the checked variants of functions, which this asks for.
        compiler.args(["-std=gnu11", "-O1", "-D_FORTIFY_SOURCE=2", "-pthread", "-w"]);
        for entry in std::fs::read_dir(sources)? {
            let path = entry?.path();
            if path.extension().is_some_and(|it| it == "c") {
                compiler.arg(path);
            }
        }
        let said = compiler.arg("-o").arg(built.path("program")).output()?;
        if said.status.success() {
            Ok(built)
        } else {
            Err(io::Error::other(String::from_utf8_lossy(&said.stderr).into_owned()))
        }
    }

    /// Returns the path of a file in the program's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns how many runs had connections with rings: each tells of itself by a byte in a file.
    ///
    /// # Errors
    /// Errors of reading the file.
    pub(crate) fn rings(&self) -> io::Result<u64> {
        match std::fs::metadata(self.path("rings")) {
            Ok(file) => Ok(file.len()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Runs the program behind the words of a command, as `env LD_PRELOAD=..`, or without any.
    ///
    /// # Errors
    /// Errors of starting it and of its files.
    pub(crate) fn run(&self, argument: Option<&OsStr>, behind: &[String]) -> io::Result<Outcome> {
        let (program, log) = (self.path("program"), self.path("log"));
        let mut command = match behind {
            [first, rest @ ..] => {
                let mut command = Command::new(first);
                command.args(rest).arg(program);
                command
            }
            [] => Command::new(program),
        };
        // The log is a file, since children that were not ended would keep a pipe open.
        let output = File::create(&log)?;
        command
            .args(argument)
            .env("PLAY_RINGS", self.path("rings"))
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(0);
        let end = wait(&mut command.spawn()?)?;
        let said = std::fs::read(&log)?;
        let mut lines: Vec<_> = String::from_utf8_lossy(&said).lines().map(str::to_owned).collect();
        match end {
            None => lines.push("hangs".to_owned()),
            Some(status) if !status.success() => lines.push(status.to_string()),
            Some(_) => {}
        }
        Ok(Outcome { lines })
    }
}

/// Waits for the end of a process, and ends what is left of its group. Returns `None` if it took too long.
fn wait(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let end = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if begun.elapsed() > LONGEST {
            break None;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    if let Some(group) = group {
        // There may be none left.
        let _ = kill_process_group(group, Signal::KILL);
    }
    if end.is_none() {
        child.wait()?;
    }
    Ok(end)
}
