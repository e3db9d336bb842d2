//! Servers that run, one test at a time.

use std::process::{Command, Stdio};
use tokio::sync::{Mutex, MutexGuard};

/// The server of a test, since some restart it.
pub(crate) async fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::const_new(());
    ONE.lock().await
}

/// Ends a server without notice, and starts it again.
pub(crate) async fn restart(name: &'static str) {
    let script = move |action: &'static str| {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/services");
        let status =
            Command::new(path).args([action, name]).stdin(Stdio::null()).stdout(Stdio::null()).status();
        assert!(status.unwrap().success(), "scripts/services {action} {name}");
    };
    tokio::task::spawn_blocking(move || ["kill", "start"].map(script)).await.unwrap();
}
