//! Two network namespaces with a wire between them.

use super::child::{Child, Role};
use super::{has, has_dpdk, skip};
use std::process::Command;

/// Two namespaces, which are removed when the value is dropped.
pub(crate) struct Namespaces {
    name: String,
}

impl Namespaces {
    /// Creates the namespaces. Without DPDK or the privileges for it, prints a loud message and returns
    /// `None`.
    pub(crate) fn new(purpose: &str) -> Option<Self> {
        if !has_dpdk() {
            return None;
        }
        if !has("ip") || !rustix::process::geteuid().is_root() {
            skip("the kernel's stack at the other end: it needs root, and `ip`");
            return None;
        }
        let name = format!("{purpose}{}", std::process::id());
        script(&["up", &name]);
        Some(Self { name })
    }

    /// Returns the command that runs a program in a namespace, `a` or `b`.
    pub(crate) fn within(&self, side: &str) -> [String; 4] {
        ["ip".into(), "netns".into(), "exec".into(), format!("{}-{side}", self.name)]
    }

    /// Starts a child in a namespace.
    pub(crate) fn child(
        &self,
        side: &str,
        role: &str,
        about: &str,
        count: usize,
        settings: &[(&str, &str)],
    ) -> Child {
        let within = self.within(side);
        let within: Vec<&str> = within.iter().map(String::as_str).collect();
        Child::start(&Role { role, about, count, settings, within: &within, unprivileged: false })
    }

    /// Returns the output of a program in a namespace.
    pub(crate) fn run(&self, side: &str, program: &[&str]) -> String {
        let within = self.within(side);
        let output = Command::new(&within[0]).args(&within[1..]).args(program).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{program:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
        said
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        script(&["down", &self.name]);
    }
}

fn script(arguments: &[&str]) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/dpdk");
    let output = Command::new(script).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}
