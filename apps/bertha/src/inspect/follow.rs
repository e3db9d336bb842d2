//! The display of changes as they happen.

use super::print::Printer;
use super::status::Status;
use bertha::Error;
use bertha_negotiation::rendezvous::{Name, RendezvousStore, Watch};
use bertha_program::escaped;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Interval between two looks for new connections, and pause before a failed store is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// Prints each connection that changes, later connections included, until standard output is closed.
pub(crate) async fn follow(
    store: impl RendezvousStore,
    only: &[Name],
    limit: usize,
    known: Vec<(Name, Status)>,
    printer: &mut Printer,
) -> Result<(), Error> {
    let store = Arc::new(store);
    let (changed, mut changes) = mpsc::channel(64);
    let mut watching = JoinSet::new();
    let mut names = HashSet::new();
    for (name, status) in known {
        names.insert(name.clone());
        watching.spawn(watch(store.clone(), name, Some(status), changed.clone(), !only.is_empty()));
    }
    let mut look = tokio::time::interval(PAUSE);
    loop {
        tokio::select! {
            Some(status) = changes.recv() => printer.print(&[&status]).await?,
            // If the connection comes again, it is found like a new connection.
            Some(Ok(Some(gone))) = watching.join_next() => {
                names.remove(&gone);
            }
            _ = look.tick(), if only.is_empty() => {
                for name in store.names(limit).await.unwrap_or_default() {
                    if names.len() < limit && names.insert(name.clone()) {
                        watching.spawn(watch(store.clone(), name, None, changed.clone(), false));
                    }
                }
            }
        }
    }
}

/// Sends the status of a connection whenever it changes, until the connection is gone, unless the user asked
/// for this connection. Returns its name when it is gone.
async fn watch<S: RendezvousStore>(
    store: Arc<S>,
    name: Name,
    mut last: Option<Status>,
    changed: mpsc::Sender<Status>,
    is_asked_for: bool,
) -> Option<Name> {
    loop {
        let failed = async {
            let mut watch = store.watch(&name).await?;
            loop {
                let status = Status::of(&name, &store.read(&name).await?);
                let is_gone = status.is_gone() && !is_asked_for;
                if last.as_ref() != Some(&status) {
                    last = Some(status.clone());
                    if changed.send(status).await.is_err() {
                        return Ok(());
                    }
                }
                if is_gone {
                    return Ok(());
                }
                // Entries that expire without a notification are found by looking.
                if let Ok(failed) = tokio::time::timeout(PAUSE, watch.changed()).await {
                    failed?;
                }
            }
        };
        let failed: Result<(), Error> = failed.await;
        let Err(error) = failed else { return Some(name) };
        let status = Status { problem: Some(escaped(&error.to_string())), ..Status::unknown(&name) };
        if last.as_ref() != Some(&status) {
            last = Some(status.clone());
            if changed.send(status).await.is_err() {
                return None;
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}
