//! A server of a test's own, which the test may kill and stop.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// The server. Dropping the value stops the server.
pub(crate) struct Broker {
    service: &'static str,
    dir: PathBuf,
}

impl Broker {
    /// Starts a server of `scripts/services` on a port of its own, with its data below a directory of the test `test`.
    ///
    /// # Errors
    /// The missing program or permission.
    pub(crate) fn new(service: &'static str, test: &str) -> Result<Self, String> {
        let name = format!("{service}-{test}-{}", std::process::id());
        let broker = Self { service, dir: PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name) };
        broker.try_to("start")?;
        Ok(broker)
    }

    pub(crate) fn port(&self) -> u16 {
        self.number("port") as u16
    }

    /// Starts the server, or kills it without a chance to write anything.
    pub(crate) fn act(&self, action: &str) {
        self.try_to(action).unwrap();
    }

    /// Makes the server hang, or go on.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.number("pid").to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap().success());
    }

    /// Returns the path of a file of the server.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.join(self.service).join(name)
    }

    fn number(&self, file: &str) -> u32 {
        std::fs::read_to_string(self.file(file)).unwrap().trim().parse().unwrap()
    }

    fn try_to(&self, action: &str) -> Result<(), String> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/services");
        let mut command = Command::new(script);
        command.args([action, self.service]).env("SERVICES_DIR", &self.dir).stdin(Stdio::null());
        let Output { status, stderr, .. } = command.output().map_err(|error| format!("{script}: {error}"))?;
        if status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&stderr).trim().to_owned()) }
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // A server that hangs does not hear the request to end.
        let _ = self.try_to("kill");
        let _ = self.try_to("stop");
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
