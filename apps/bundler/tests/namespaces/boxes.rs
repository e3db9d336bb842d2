//! The processes of the boxes.

use crate::site::{BUNDLE, Place, SENDBOX, SENDER, Site};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The port at which the sendbox hears.
pub(crate) const PORT: u16 = 4_700;

/// A box, which is killed when the value is dropped.
pub(crate) struct Box {
    child: Child,
    printed: Arc<Mutex<Vec<String>>>,
}

/// Returns the file of the key in a folder.
pub(crate) fn key(folder: &TempDir) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.path().join("key");
    std::fs::write(&path, "0123456789abcdef").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path
}

/// Returns the command of a box on a machine.
pub(crate) fn program(site: &Site, place: Place) -> Command {
    site.command(place, env!("CARGO_BIN_EXE_bertha-bundler"))
}

pub(crate) fn sendbox(site: &Site, folder: &TempDir, congestion: &str, options: &[&str]) -> Box {
    let mut command = program(site, Place::Sendbox);
    command.args(["send", "--route", BUNDLE, "--listen", &format!("{SENDBOX}:{PORT}")]);
    command.arg("--key-file").arg(key(folder)).args(["--congestion", congestion]);
    Box::start(command.args(["--interval", "0.1"]).args(options), &format!(" at {SENDBOX}"))
}

pub(crate) fn receivebox(site: &Site, folder: &TempDir) -> Box {
    receivebox_of(site, folder, &["--from", &format!("{SENDER}/32"), "--to", BUNDLE])
}

/// Starts a receivebox of the packets that the options choose.
pub(crate) fn receivebox_of(site: &Site, folder: &TempDir, packets: &[&str]) -> Box {
    let mut command = program(site, Place::Receiver);
    command.args(["receive", "--interface", "wan"]).args(packets);
    command.args(["--sendbox", &format!("{SENDBOX}:{PORT}"), "--interval", "0.1"]);
    Box::start(command.arg("--key-file").arg(key(folder)), "acknowledges to")
}

impl Box {
    fn start(command: &mut Command, ready: &str) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let printed = Arc::default();
        read(child.stdout.take().unwrap(), &printed);
        read(child.stderr.take().unwrap(), &printed);
        let started = Self { child, printed };
        started.prints(ready);
        started
    }

    /// Waits until the box prints a line with this text from now on.
    pub(crate) fn prints(&self, text: &str) {
        self.prints_number(text, |_| true);
    }

    /// Waits until the box prints a line with this text and then a number that fulfils the condition; the number is NaN where
    /// there is none.
    pub(crate) fn prints_number(&self, text: &str, is_right: impl Fn(f64) -> bool) {
        let start = Instant::now();
        let from = if text.contains(':') { self.printed.lock().unwrap().len() } else { 0 };
        loop {
            let printed = self.printed.lock().unwrap();
            if printed[from..].iter().filter_map(|line| number_behind(line, text)).any(&is_right) {
                return;
            }
            assert!(start.elapsed() < Duration::from_secs(20), "no `{text}` as expected: {printed:#?}");
            drop(printed);
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until the box ends by itself with this reason. Returns true if its status is that of a failure.
    pub(crate) fn fails(mut self, reason: &str) -> bool {
        let status = self.child.wait().unwrap();
        let start = Instant::now();
        // A thread reads what the box printed last.
        while !self.printed.lock().unwrap().iter().any(|line| line.contains(reason)) {
            assert!(start.elapsed() < Duration::from_secs(20), "no `{reason}`: {:#?}", self.printed);
            std::thread::sleep(Duration::from_millis(10));
        }
        status.code() == Some(1)
    }

    /// Waits until the box has ended, with any status.
    pub(crate) fn wait(mut self) {
        self.child.wait().unwrap();
    }

    /// Ends the box as an operator does. Returns true if it has ended well.
    pub(crate) fn ends_well(mut self) -> bool {
        self.signal(Signal::TERM);
        self.child.wait().unwrap().success()
    }
}

impl Drop for Box {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a box that is expected to fail.
pub(crate) fn fails(command: &mut Command) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = command.output().unwrap();
    (status.code(), String::from_utf8_lossy(&stderr).into_owned())
}

fn number_behind(line: &str, text: &str) -> Option<f64> {
    let (_, rest) = line.split_once(text)?;
    let number = rest.trim_start().split([' ', ',', ';']).next().unwrap_or_default();
    Some(number.parse().unwrap_or(f64::NAN))
}

fn read(from: impl Read + Send + 'static, into: &Arc<Mutex<Vec<String>>>) {
    let into = into.clone();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            into.lock().unwrap().push(line);
        }
    });
}
