//! The interpreter, a program in C, and a run of it.

use crate::program::Program;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longest run of a program. The interpreter itself ends a step that takes too long.
const LONGEST: Duration = Duration::from_secs(60);

/// The built interpreter, in a folder of its own.
#[derive(Debug)]
pub struct Player {
    folder: TempDir,
}

/// What a program says in a run: its lines, and how it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// A line for each step and each of its calls.
    pub lines: Vec<String>,
}

impl Player {
    /// Builds the interpreter with the C compiler of the system.
    ///
    /// # Errors
    /// Errors of the file system and of starting the compiler; [`io::ErrorKind::Other`] with the compiler's words.
    pub fn build() -> io::Result<Self> {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("player");
        let player = Self { folder: tempfile::tempdir()? };
        let mut compiler = Command::new("cc");
        // Programs of a distribution call the checked variants of functions, which this asks for.
        compiler.args([
            "-std=gnu11",
            "-O1",
            "-D_FORTIFY_SOURCE=2",
            "-Wall",
            "-Wextra",
            "-Wno-clobbered",
            "-pthread",
        ]);
        for entry in std::fs::read_dir(sources)? {
            let path = entry?.path();
            if path.extension().is_some_and(|it| it == "c") {
                compiler.arg(path);
            }
        }
        let built = compiler.arg("-o").arg(player.path()).output()?;
        if !built.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&built.stderr).into_owned()));
        }
        Ok(player)
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("play")
    }

    /// Plays a program behind the words of a command, as `env LD_PRELOAD=..`, or without any.
    ///
    /// # Errors
    /// Errors of starting the interpreter and of its files.
    pub fn play(&self, program: &Program, behind: &[String]) -> io::Result<Outcome> {
        let (text, log) = (self.folder.path().join("program"), self.folder.path().join("log"));
        std::fs::write(&text, program.to_string())?;
        let mut command = match behind {
            [first, rest @ ..] => {
                let mut command = Command::new(first);
                command.args(rest).arg(self.path());
                command
            }
            [] => Command::new(self.path()),
        };
        // The log is a file, since children that were not ended would keep a pipe open.
        let output = File::create(&log)?;
        command.arg(&text).stdout(output.try_clone()?).stderr(output).process_group(0);
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
