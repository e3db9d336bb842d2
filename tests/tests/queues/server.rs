//! The servers of `scripts/services`.
#![allow(dead_code, reason = "each suite uses a part")]

use bertha_tests::conformance::queue::Restarted;
use std::net::SocketAddr;
use std::process::{Command, Output, Stdio};
use tokio::sync::{Mutex, MutexGuard};

/// Waits until no other test uses the server, since some tests restart it.
pub(crate) async fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::const_new(());
    ONE.lock().await
}

/// Returns host and port of an address.
pub(crate) fn socket(address: &str) -> SocketAddr {
    address.split("//").nth(1).unwrap().split('/').next().unwrap().parse().unwrap()
}

/// Returns an address without quotation marks, and without its signature, which is made anew each time.
fn place(address: &str) -> &str {
    address.trim_matches('\'').split('?').next().unwrap_or_default()
}

/// Runs a suite on a thread with a large stack, since its futures are large without optimisation.
pub(crate) fn run<F: Future<Output = ()>>(suite: impl FnOnce() -> F + Send + 'static) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let thread = std::thread::Builder::new().stack_size(16 << 20).spawn(move || runtime.block_on(suite()));
    if let Err(panic) = thread.unwrap().join() {
        std::panic::resume_unwind(panic);
    }
}

fn script(arguments: &[&str]) -> Output {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/services");
    Command::new(script).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// Kills the server of this name and starts it again, unless `address` is the address of another server.
pub(crate) async fn restart(name: &'static str, address: &str, then: Restarted) -> Restarted {
    let address = address.to_owned();
    let restart = move || {
        let env = String::from_utf8(script(&["env", name]).stdout).unwrap();
        let is_here = |line: &str| line.split_once('=').is_some_and(|(_, it)| place(it) == place(&address));
        if !env.lines().any(is_here) {
            return Restarted::Not;
        }
        for action in ["kill", "start"] {
            let output = script(&[action, name]);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        then
    };
    tokio::task::spawn_blocking(restart).await.unwrap()
}
