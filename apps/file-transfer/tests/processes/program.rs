//! The program as the tests run it.

use sha2::{Digest, Sha256};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

/// Time in seconds after which an end of these tests gives its peer up.
pub(crate) const TIMEOUT: &str = "2";

/// Two directories that are removed with the test, and the directory in which the program runs.
pub(crate) struct Scene {
    _directory: tempfile::TempDir,
    pub(crate) here: PathBuf,
    pub(crate) there: PathBuf,
}

/// A receiver, killed when the value is dropped.
pub(crate) struct Receiver {
    process: Child,
    output: BufReader<ChildStdout>,
    /// Address at which the receiver listens.
    pub(crate) addr: String,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (here, there) = (directory.path().join("here"), directory.path().join("there"));
        std::fs::create_dir(&here).unwrap();
        std::fs::create_dir(&there).unwrap();
        Self { _directory: directory, here, there }
    }

    /// Creates a file with `len` bytes that no other seed yields.
    pub(crate) fn file(&self, name: &str, len: usize, seed: u64) -> PathBuf {
        let path = self.here.join(name);
        std::fs::write(&path, content(len, seed)).unwrap();
        path
    }

    pub(crate) fn received(&self, name: &str) -> PathBuf {
        self.there.join(name)
    }

    pub(crate) fn unfinished(&self, name: &str) -> PathBuf {
        self.there.join(format!(".{name}.part"))
    }

    pub(crate) fn receiver(&self, addr: &str, options: &[&str]) -> Receiver {
        Receiver::start(program(), &self.there, addr, options)
    }

    /// Waits until the unfinished file has this number of bytes.
    pub(crate) fn wait_for(&self, name: &str, bytes: u64) {
        let path = self.unfinished(name);
        for _ in 0..30_000 {
            if std::fs::metadata(&path).is_ok_and(|metadata| metadata.len() >= bytes) {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        panic!("{} does not grow", path.display());
    }
}

/// Returns bytes of a linear generator.
pub(crate) fn content(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 56) as u8
    };
    (0..len).map(|_| next()).collect()
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_file-transfer"))
}

/// Returns the command that sends a file, with `options`.
pub(crate) fn sending(mut program: Command, path: &Path, to: &str, options: &[&str]) -> Command {
    program.arg("send").arg(path).args(["--to", to, "--timeout", TIMEOUT]).args(options);
    program.stdout(Stdio::piped()).stderr(Stdio::piped());
    program
}

/// Returns the output of a sender that succeeded.
pub(crate) fn success(output: &Output) -> String {
    let (said, log) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}{log}");
    said.into_owned()
}

/// Returns the errors of a sender that failed.
pub(crate) fn failure(output: &Output) -> String {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the offset from which on the last connection sent.
pub(crate) fn offset(said: &str) -> u64 {
    let from = said.split("from byte ").nth(1).unwrap_or_else(|| panic!("no offset in {said}"));
    from.split(' ').next().unwrap().parse().unwrap()
}

impl Receiver {
    pub(crate) fn start(mut program: Command, directory: &Path, addr: &str, options: &[&str]) -> Self {
        program.arg("receive").arg(directory).args(["--addr", addr, "--timeout", TIMEOUT]).args(options);
        let mut process = program.stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let mut receiver = Self { process, output, addr: String::new() };
        let ready = receiver.line();
        receiver.addr = ready.trim().strip_prefix("file-transfer: ready at ").unwrap().to_owned();
        receiver
    }

    /// Returns the next line of the receiver's output.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Waits for the end of the receiver.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.process.wait().unwrap()
    }

    /// Kills the receiver without a chance to write anything.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
