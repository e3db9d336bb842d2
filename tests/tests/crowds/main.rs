//! Crowds before a server over TCP: strangers that take its descriptors and its places, and more honest clients at once than it has places
//! for. The server is a process of its own, so that its descriptors can be few. `edges.md` says which edge each test holds.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests panic to fail")]

mod attack;
mod child;
mod flood;
mod herd;
mod panics;
mod strangers;

use tokio::sync::{Mutex, MutexGuard};

/// Waits until no other crowd is there: each takes the whole machine.
async fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::const_new(());
    ONE.lock().await
}
