//! The statuses of all participants, kept equal to the statuses in the store.

use super::status::{Status, Statuses};
use crate::rendezvous::store::{Name, RendezvousStore, Snapshot, Transaction, Watch};
use bertha_core::{Error, Runtime};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// Pause before the store is read again, in case it reported a change too late or not at all, and after a
/// failure.
const PAUSE: Duration = Duration::from_millis(100);

/// The version of the format.
const VERSION: u8 = 1;

/// Maximum number of statuses that are removed in one step.
const REMOVALS: usize = 8;

/// The table, for the agent, its steps and the task that communicates with the store.
pub(super) struct Board {
    statuses: Mutex<Statuses>,
    /// Notified when this participant's own status has changed.
    own: Notify,
}

impl Board {
    pub(super) fn new(statuses: Statuses) -> Arc<Self> {
        Arc::new(Self { statuses: Mutex::new(statuses), own: Notify::new() })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Statuses> {
        self.statuses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes this participant's own status, which is written to the store soon.
    pub(super) fn change(&self, change: impl FnOnce(&mut Statuses)) {
        change(&mut self.lock());
        self.own.notify_one();
    }

    /// Waits until the store has this participant's own status.
    pub(super) async fn published(&self, runtime: &impl Runtime, limit: Duration) {
        let late = runtime.now() + limit;
        while !self.lock().is_published && runtime.now() < late {
            runtime.sleep_until(runtime.now() + Duration::from_millis(1)).await;
        }
    }

    /// Returns the change to write to the store, with the own status that the store has after it.
    fn request(&self) -> (Transaction, u64, Status) {
        let statuses = self.lock();
        let id = statuses.own_id;
        let own = statuses.own;
        let mut request = Transaction::new();
        if !statuses.is_published
            && let Ok(value) = postcard::to_extend(&own, vec![VERSION])
        {
            request = request.put(key(id), value);
        }
        for gone in statuses.forgettable().into_iter().take(REMOVALS) {
            request = request.delete(key(gone));
        }
        (request, id, own)
    }

    fn on_answer(&self, snapshot: &Snapshot, id: u64, published: Status) {
        let mut statuses = self.lock();
        let is_own = |key: &str| key == self::key(statuses.own_id);
        let others = snapshot.entries.iter().filter(|(key, _)| !is_own(key));
        let others = others.filter_map(|(key, entry)| Some((id_of(key)?, decode(&entry.value)?))).collect();
        // Another participant may have removed the entry, since it took this participant for gone.
        let is_there = snapshot.entries.keys().any(|key| is_own(key));
        let is_published = is_there && statuses.own_id == id && statuses.own == published;
        statuses.others = others;
        statuses.is_published = is_published;
    }
}

fn key(id: u64) -> String {
    format!("{id:016x}")
}

fn id_of(key: &str) -> Option<u64> {
    u64::from_str_radix(key, 16).ok()
}

/// Decodes a status. A status that can't be read counts as missing, so its participant is waited for until it
/// is late.
fn decode(value: &[u8]) -> Option<Status> {
    let (&VERSION, body) = value.split_first()? else { return None };
    postcard::from_bytes(body).ok()
}

/// Returns the name under which the store has the statuses of a connection.
///
/// # Errors
/// [`Invalid`](bertha_core::ErrorKind::Invalid) if the name is too long.
pub(super) fn name_of(connection: &Name) -> Result<Name, Error> {
    Name::new(format!("{connection}.statuses"))
}

/// Writes this participant's own status to the store, and reads the statuses of the other participants, until
/// the future is dropped.
pub(super) async fn run<T: RendezvousStore, R: Runtime>(
    store: Arc<T>,
    name: Name,
    runtime: R,
    board: Arc<Board>,
) {
    let mut watch: Option<T::Watch> = None;
    loop {
        if watch.is_none() {
            watch = store.watch(&name).await.ok();
        }
        let (request, id, own) = board.request();
        match store.transact(&name, &request).await {
            Ok(outcome) => board.on_answer(&outcome.snapshot, id, own),
            Err(error) => {
                tracing::debug!(target: "bertha::negotiation", %error, "the store was not told how far this participant is");
                watch = None;
            }
        }
        let pause = pin!(runtime.sleep_until(runtime.now() + PAUSE));
        let own_news = pin!(board.own.notified());
        let news = async {
            let changed = match &mut watch {
                Some(watch) => watch.changed().await.is_ok(),
                None => futures_util::future::pending().await,
            };
            if !changed {
                watch = None;
            }
        };
        // A cancelled watch has reported nothing: the statuses are read whenever this task wakes.
        let news = pin!(news);
        match select(select(own_news, news), pause).await {
            Either::Left(_) | Either::Right(_) => {}
        }
    }
}
