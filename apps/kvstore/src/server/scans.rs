//! The scans that a shard has under way.

use super::siblings::Siblings;
use crate::page::PageLimits;
use crate::shared_store::SharedStore;
use crate::{Body, Message};
use tokio::sync::mpsc;

/// The scans of a source of requests, which wait for other shards while further requests are answered. `T`
/// goes along with each scan.
pub(super) struct Scans<T> {
    under_way: usize,
    most: usize,
    done: mpsc::Sender<Done<T>>,
    finished: mpsc::Receiver<Done<T>>,
}

/// An ended scan: its reply, or nothing if a shard has stopped.
type Done<T> = (Option<Message>, T);

impl<T: Send + 'static> Scans<T> {
    /// Makes an empty set of at most `most` scans.
    pub(super) fn new(most: usize) -> Self {
        let (done, finished) = mpsc::channel(most);
        Self { under_way: 0, most, done, finished }
    }

    /// Returns the number of scans that may begin.
    pub(super) fn room(&self) -> usize {
        self.most - self.under_way
    }

    /// Returns true if there is no scan under way.
    pub(super) fn is_empty(&self) -> bool {
        self.under_way == 0
    }

    /// Begins a scan. The caller has checked [`room`](Self::room).
    pub(super) fn begin(&mut self, scan: Message, store: &SharedStore, siblings: &Siblings, along: T) {
        self.under_way += 1;
        let (store, siblings, done) = (store.clone(), siblings.clone(), self.done.clone());
        bertha::spawn(async move {
            let reply = carry_out(scan, &store, &siblings).await;
            // The source may be gone. Its queue has a place for each scan.
            let _ = done.try_send((reply, along));
        });
    }

    /// Waits for the end of a scan; `None` if its shards have stopped. Cancellation-safe.
    pub(super) async fn next(&mut self) -> Option<(Message, T)> {
        let (reply, along) = self.finished.recv().await?;
        self.under_way -= 1;
        Some((reply?, along))
    }
}

/// Carries out a scan, and returns its reply; `None` if a shard has stopped.
pub(super) async fn carry_out(scan: Message, store: &SharedStore, siblings: &Siblings) -> Option<Message> {
    let Body::Scan { count, room } = scan.body else { return None };
    let page = siblings.page(store, &scan.key, PageLimits::new(count, room)).await?;
    let body = Body::page(page, &scan.key);
    Some(scan.reply(body))
}
