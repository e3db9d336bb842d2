//! A network namespace.

use crate::{Error, ErrorKind};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// A network namespace, which is taken down when the value is dropped.
#[derive(Debug)]
pub(crate) struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes a namespace whose loopback interface is up. `side` is a part of its name.
    ///
    /// # Errors
    /// [`ErrorKind::Core`] if the system refuses.
    pub(crate) fn new(side: &str) -> Result<Self, Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Relaxed);
        let name = format!("bertha-bench-{}-{number}-{side}", std::process::id());
        ip(&["netns", "add", &name])?;
        let namespace = Self { name };
        // Sockets try out the offloads of the system over the loopback interface.
        namespace.ip(&["link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Runs `ip` in the namespace.
    ///
    /// # Errors
    /// [`ErrorKind::Core`] if it fails.
    pub(crate) fn ip(&self, arguments: &[&str]) -> Result<(), Error> {
        ip(&[&["-n", &self.name], arguments].concat())
    }

    /// Returns the command that runs a program in the namespace.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).arg(program.as_ref());
        command
    }

    /// Moves the calling thread into the namespace for good: its sockets belong to that namespace. So the
    /// thread must serve this purpose only.
    ///
    /// # Errors
    /// [`ErrorKind::Core`] if the system refuses.
    pub(crate) fn enter(&self) -> Result<(), Error> {
        let path = Path::new("/run/netns").join(&self.name);
        let failed = || format!("entering {}", path.display());
        let file = File::open(&path).map_err(|error| Error::new(ErrorKind::Core, failed()).because(error))?;
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(|error| Error::new(ErrorKind::Core, failed()).because(error))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // Somebody else may have taken it down.
        ip(&["netns", "del", &self.name]).unwrap_or_default();
    }
}

/// Runs `ip`.
///
/// # Errors
/// [`ErrorKind::Core`] if it fails.
pub(crate) fn ip(arguments: &[&str]) -> Result<(), Error> {
    let failed = || Error::new(ErrorKind::Core, format!("ip {}", arguments.join(" ")));
    let output = Command::new("ip").args(arguments).output().map_err(|error| failed().because(error))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(failed().because(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}

/// Returns true if a program of the system is there.
pub(crate) fn has_program(name: &str) -> bool {
    ["/usr/sbin", "/usr/bin", "/sbin", "/bin"].iter().any(|folder| Path::new(folder).join(name).exists())
}
