//! The servers of `scripts/services`.

use bertha_tests::conformance::queue::Restarted;
use std::process::{Command, Output, Stdio};

/// Runs a suite where its futures, which are large without optimisation, have room.
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

/// Kills the server of this name and starts it again, unless `address` is that of another.
pub(crate) async fn restart(name: &'static str, address: &str, then: Restarted) -> Restarted {
    let address = address.to_owned();
    let restart = move || {
        let env = String::from_utf8(script(&["env", name]).stdout).unwrap();
        if !env.lines().any(|line| line.ends_with(&format!("={address}"))) {
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
