//! Two network namespaces with a wire in between.

use super::child::{Child, Role};
use super::{has, has_dpdk, skip};
use std::process::Command;

/// Removed when dropped.
pub(crate) struct Namespaces {
    name: String,
}

impl Namespaces {
    /// New ones; nothing, after having said so loudly, without DPDK or the privileges for it.
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

    /// The command that runs a program in one of them, `a` or `b`.
    pub(crate) fn within(&self, side: &str) -> [String; 4] {
        ["ip".into(), "netns".into(), "exec".into(), format!("{}-{side}", self.name)]
    }

    /// Starts a child in one of them.
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

    /// The output of a program in one of them.
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
