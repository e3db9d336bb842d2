//! The boxes, each in a process of its own, and the agent of the inner loop.

use super::site::{ARRIVING, BUNDLE, SENDBOX, SENDER, Site};
use crate::figures::namespace::Namespace;
use crate::{Error, ErrorKind};
use bertha_ccp::AgentSocket;
use bertha_ccp::algorithms::Copa;
use portus::RunBuilder;
use portus::ipc::BackendBuilder;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use tempfile::TempDir;

/// The port at which the sendbox hears.
const PORT: u16 = 4_700;

/// Both boxes, which end with this value.
#[derive(Debug)]
pub(super) struct Boxes {
    _sending: Process,
    _receiving: Process,
    _folder: TempDir,
}

/// A box, which is killed when the value is dropped.
#[derive(Debug)]
struct Process {
    child: Child,
    /// The box ends without a reader.
    _output: BufReader<ChildStdout>,
}

impl Boxes {
    /// Starts the boxes, with packets in this order in a buffer of so many bytes, and Copa by an agent of this process.
    pub(super) fn start(site: &Site, order: &str, buffer: u64) -> Result<Self, Error> {
        let folder =
            tempfile::tempdir().map_err(Error::while_doing(ErrorKind::Core, "making a directory"))?;
        let agent = folder.path().join("agent");
        serve(&agent)?;
        let key = key(folder.path())?;
        let heard = format!("{SENDBOX}:{PORT}");
        let mut receiving = program(&site.receiver)?;
        receiving.args(["receive", "--interface", ARRIVING, "--from", &SENDER.to_string(), "--to", BUNDLE]);
        receiving.args(["--sendbox", &heard, "--quiet", "--key-file"]).arg(&key);
        let mut sending = program(&site.sendbox)?;
        sending.args(["send", "--route", BUNDLE, "--listen", &heard, "--scheduling", order, "--quiet"]);
        sending.args([
            "--buffer",
            &buffer.to_string(),
            "--congestion",
            &format!("agent:{}", agent.display()),
        ]);
        sending.arg("--key-file").arg(&key);
        Ok(Self {
            _receiving: Process::start(receiving, "acknowledges to")?,
            _sending: Process::start(sending, " at ")?,
            _folder: folder,
        })
    }
}

impl Process {
    /// Starts a box, and waits until it prints a line with this text.
    fn start(mut command: Command, ready: &str) -> Result<Self, Error> {
        let starting = |error| Error::while_doing(ErrorKind::Core, "starting a box of a bundle")(error);
        let mut child = command.stdout(Stdio::piped()).spawn().map_err(starting)?;
        let output =
            child.stdout.take().ok_or_else(|| Error::new(ErrorKind::Core, "a box without output"))?;
        let mut started = Self { child, _output: BufReader::new(output) };
        let mut line = String::new();
        while !line.contains(ready) {
            line.clear();
            if started._output.read_line(&mut line).map_err(starting)? == 0 {
                return Err(Error::new(ErrorKind::Core, "a box of a bundle has ended; its message is above"));
            }
        }
        Ok(started)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _has_ended = self.child.kill();
        let _ends_by_the_kill = self.child.wait();
    }
}

/// Serves as an agent until this process ends.
fn serve(socket: &Path) -> Result<(), Error> {
    let sock = AgentSocket::bind(socket, &[])
        .map_err(Error::while_doing(ErrorKind::Bertha, "listening as an agent"))?;
    let copa = RunBuilder::new(BackendBuilder { sock }).default_alg(Copa::without_competition());
    let _runs_until_the_end =
        copa.spawn_thread().run().map_err(|error| Error::new(ErrorKind::Bertha, error.0))?;
    Ok(())
}

/// Writes the key of both boxes, which only this user reads.
fn key(folder: &Path) -> Result<PathBuf, Error> {
    use std::io::Write;
    let path = folder.join("key");
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    file.and_then(|mut file| file.write_all(b"0123456789abcdef"))
        .map_err(Error::while_doing(ErrorKind::Core, "writing a key"))?;
    Ok(path)
}

/// Returns the command of a box on a machine.
fn program(of: &Namespace) -> Result<Command, Error> {
    let program = std::env::current_exe()
        .map_err(Error::while_doing(ErrorKind::Report, "finding the running program"))?;
    let mut command = of.command(program);
    command.arg("bundler");
    Ok(command)
}
