//! Hosts that are network namespaces.

use std::process::{Command, Stdio};

/// A network of hosts. Dropping the value removes the network, with all processes on it.
pub(crate) struct Network {
    name: String,
    /// The first three bytes of the network's addresses.
    net: String,
}

impl Network {
    /// Makes a network of `hosts` hosts, numbered from 1.
    ///
    /// # Errors
    /// The missing ability of this machine or this user.
    pub(crate) fn new(hosts: usize) -> Result<Self, String> {
        let number = std::process::id();
        let network = Self { name: format!("chaos{number}"), net: format!("10.77.{}", number % 250) };
        let up = network.script("up", &[&network.net, &hosts.to_string()]);
        up.map(|()| network)
    }

    /// Returns the address at which the hosts reach this machine.
    pub(crate) fn gateway(&self) -> String {
        format!("{}.1", self.net)
    }

    pub(crate) fn addr(&self, host: usize) -> String {
        format!("{}.{}", self.net, 10 + host)
    }

    /// Makes a command that runs `program` on a host.
    pub(crate) fn command(&self, host: usize, program: &std::ffi::OsStr) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &format!("{}-{host}", self.name)]).arg(program);
        command
    }

    pub(crate) fn cut(&self, host: usize) {
        self.script("cut", &[&host.to_string()]).unwrap();
    }

    pub(crate) fn mend(&self, host: usize) {
        self.script("mend", &[&host.to_string()]).unwrap();
    }

    /// Drops all packets from a host to `addr`.
    pub(crate) fn blackhole(&self, host: usize, addr: &str) {
        self.script("blackhole", &[&host.to_string(), addr]).unwrap();
    }

    fn script(&self, action: &str, arguments: &[&str]) -> Result<(), String> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/netns");
        let mut command = Command::new(script);
        command.args([action, &self.name]).args(arguments).stdin(Stdio::null());
        let output = command.output().map_err(|error| format!("{script}: {error}"))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!(
                "network namespaces: {action} failed: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            )),
        }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let _ = self.script("down", &[]);
    }
}
