//! The routes and rules that lead the packets of a bundle through the device, and only once.

use crate::prefix::Prefix;
use bertha_core::{Error, ErrorKind};
use bertha_program::{Hold, Termination};
use std::fs;
use std::process::Command;

/// The table of the routes to the device. Prefixes of several devices may stand in it side by side.
const TABLE: &str = "7100";

/// Priorities of the rules, in the order in which they are looked at.
const OWN: &str = "7101";
const SENT: &str = "7102";
const LOST: &str = "7103";
const BUNDLE: &str = "7104";

/// Maximum number of rules of a priority that are removed.
const MOST_LEFT: usize = 16;

/// The address of the device, to which nobody sends (RFC 7600). Linux takes no packet of a foreign source from a device
/// without an address while it checks sources, whatever the routes are.
const ADDRESS: &str = "192.0.0.8/32";

/// The routes of a device.
#[derive(Debug)]
pub(super) struct Routes {
    device: String,
    prefixes: Vec<Prefix>,
}

impl Routes {
    pub(super) fn new(device: &str, prefixes: Vec<Prefix>) -> Self {
        Self { device: device.to_owned(), prefixes }
    }

    /// Prints the commands that an operator runs if the program does not.
    pub(super) fn advise(&self, mut print: impl FnMut(String)) {
        if !self.prefixes.is_empty() {
            return;
        }
        print("packets of the bundle come to the device by these commands, with the bundle's destinations as PREFIX:".to_owned());
        print(format!("  sysctl -w net.ipv4.conf.{}.rp_filter=2", self.device));
        self.device_commands().iter().for_each(|command| print(format!("  ip {}", command.join(" "))));
        let rules = self.rules("PREFIX").into_iter().map(|rule| [&["rule", "add"][..], &rule].concat());
        rules.chain([self.route("PREFIX")]).for_each(|command| print(format!("  ip {}", command.join(" "))));
    }

    /// Sets the routes and rules of all prefixes. They are removed when the result is dropped; routes go with
    /// the device, so packets take their former route also after a kill. A second signal waits for the removal.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io) if a command fails, with the command and its reason.
    pub(super) fn set(&self, termination: &Termination) -> Result<SetRoutes<'_>, Error> {
        let mut set = SetRoutes { routes: self, prefixes: Vec::new(), _held: termination.hold() };
        if self.prefixes.is_empty() {
            return Ok(set);
        }
        // Packets come back by the device with sources of other interfaces.
        fs::write(format!("/proc/sys/net/ipv4/conf/{}/rp_filter", self.device), "2")
            .map_err(|error| Error::of_file("setting rp_filter of the device", error))?;
        self.device_commands().iter().try_for_each(|command| run(false, command))?;
        for prefix in &self.prefixes {
            let text = prefix.to_string();
            // First: a route that another box has set keeps its rules.
            run(prefix.is_v6(), &self.route(&text))?;
            set.prefixes.push(*prefix);
            warn_without_forwarding(prefix.is_v6());
            remove_left_behind(prefix);
            for rule in self.rules(&text) {
                run(prefix.is_v6(), &[&["rule", "add"][..], &rule].concat())?;
            }
        }
        Ok(set)
    }

    fn device_commands(&self) -> [Vec<&str>; 2] {
        [vec!["address", "add", ADDRESS, "dev", &self.device], vec!["link", "set", &self.device, "up"]]
    }

    fn route<'a>(&'a self, prefix: &'a str) -> Vec<&'a str> {
        vec!["route", "add", prefix, "dev", &self.device, "table", TABLE]
    }

    /// Returns the rules of a prefix: packets of this machine, such as messages to the receivebox, pass beside the device; packets from the
    /// device go on by the main table, or nowhere, but never to the device again.
    fn rules<'a>(&'a self, prefix: &'a str) -> [Vec<&'a str>; 4] {
        [
            vec!["pref", OWN, "iif", "lo", "to", prefix, "lookup", "main"],
            vec!["pref", SENT, "iif", &self.device, "to", prefix, "lookup", "main"],
            vec!["pref", LOST, "iif", &self.device, "to", prefix, "unreachable"],
            vec!["pref", BUNDLE, "to", prefix, "lookup", TABLE],
        ]
    }
}

/// Routes that are removed when the value is dropped.
#[derive(Debug)]
pub(super) struct SetRoutes<'a> {
    routes: &'a Routes,
    /// The prefixes whose routes are of this value.
    prefixes: Vec<Prefix>,
    /// Dropped behind the rules.
    _held: Hold,
}

impl Drop for SetRoutes<'_> {
    fn drop(&mut self) {
        for prefix in &self.prefixes {
            for rule in self.routes.rules(&prefix.to_string()) {
                // A rule that was not set can't be removed.
                let _is_gone = run(prefix.is_v6(), &[&["rule", "del"][..], &rule].concat());
            }
        }
    }
}

/// Removes the rules of a prefix that boxes have left which were killed, whatever their devices were. A box that runs has its route, so it
/// keeps its rules.
fn remove_left_behind(prefix: &Prefix) {
    let text = prefix.to_string();
    for priority in [OWN, SENT, LOST, BUNDLE] {
        let remove = ["rule", "del", "pref", priority, "to", &text];
        // Each call removes one rule, and fails when there is none.
        let _left = (0..MOST_LEFT).take_while(|_| run(prefix.is_v6(), &remove).is_ok()).count();
    }
}

fn run(is_v6: bool, arguments: &[&str]) -> Result<(), Error> {
    let failed = |reason: &str| Error::new(ErrorKind::Io, format!("ip {}: {reason}", arguments.join(" ")));
    let family = if is_v6 { "-6" } else { "-4" };
    let output = Command::new("ip")
        .arg(family)
        .args(arguments)
        .output()
        .map_err(|error| failed(&error.to_string()))?;
    if output.status.success() { Ok(()) } else { Err(failed(String::from_utf8_lossy(&output.stderr).trim())) }
}

fn warn_without_forwarding(is_v6: bool) {
    let setting = if is_v6 { "net/ipv6/conf/all/forwarding" } else { "net/ipv4/ip_forward" };
    if fs::read_to_string(format!("/proc/sys/{setting}")).is_ok_and(|value| value.trim() == "0") {
        tracing::warn!(setting = setting.replace('/', "."), "this machine forwards no packets; set it to 1");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_printed_if_they_are_not_run() {
        let mut printed = Vec::new();
        Routes::new("bundle0", Vec::new()).advise(|line| printed.push(line));
        let expected = [
            "  sysctl -w net.ipv4.conf.bundle0.rp_filter=2",
            "  ip address add 192.0.0.8/32 dev bundle0",
            "  ip link set bundle0 up",
            "  ip rule add pref 7101 iif lo to PREFIX lookup main",
            "  ip rule add pref 7102 iif bundle0 to PREFIX lookup main",
            "  ip rule add pref 7103 iif bundle0 to PREFIX unreachable",
            "  ip rule add pref 7104 to PREFIX lookup 7100",
            "  ip route add PREFIX dev bundle0 table 7100",
        ];
        assert_eq!(printed[1..], expected);
        let prefix = "10.1.0.0/16".parse().unwrap();
        Routes::new("bundle0", vec![prefix]).advise(|line| panic!("{line}"));
    }
}
