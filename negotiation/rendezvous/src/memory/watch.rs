//! Waiting for changes, which include entries that expire.

use super::super::{Name, Revision, Watch};
use super::MemoryStore;
use bertha_core::{Error, ErrorKind, Runtime};
use futures_util::future::{Either, pending, select};
use std::fmt;
use std::pin::pin;
use tokio::sync::watch::Receiver;

/// Reports changes in a [`MemoryStore`], and expiry as it happens.
pub struct MemoryWatch<R> {
    store: MemoryStore<R>,
    name: Name,
    changes: Receiver<Revision>,
}

impl<R: Runtime> MemoryWatch<R> {
    pub(super) fn new(store: MemoryStore<R>, name: Name, changes: Receiver<Revision>) -> Self {
        Self { store, name, changes }
    }
}

impl<R: Runtime> Watch for MemoryWatch<R> {
    async fn changed(&mut self) -> Result<Revision, Error> {
        loop {
            let deadline = self.store.with(&self.name, |connection| connection.next_deadline());
            let expiry = pin!(async {
                match deadline {
                    Some(deadline) => self.store.runtime.sleep_until(deadline).await,
                    None => pending().await,
                }
            });
            let changed = match select(pin!(self.changes.changed()), expiry).await {
                Either::Left((changed, _)) => changed,
                // Looking at the connection again removes what has expired.
                Either::Right(_) => continue,
            };
            if changed.is_err() {
                return Err(Error::new(ErrorKind::Unreachable, "the store is gone").at("MemoryStore"));
            }
            return Ok(*self.changes.borrow_and_update());
        }
    }
}

impl<R> fmt::Debug for MemoryWatch<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryWatch").field("name", &self.name).finish_non_exhaustive()
    }
}
