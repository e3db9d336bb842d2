//! The extension of the deadlines of messages that the application holds.

use super::client::Client;
use super::leases::Leases;
use gcloud_googleapis::pubsub::v1::ModifyAckDeadlineRequest;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;

/// Largest number of messages in a call.
const BATCH: usize = 1000;

/// The held messages, and the task that extends their deadlines. The task ends when the value is dropped.
#[derive(Debug)]
pub(crate) struct Extender {
    leases: Arc<Mutex<Leases>>,
    task: AbortHandle,
}

impl Extender {
    /// Creates the extender for messages of `subscription`, whose deadline is `deadline`, and is extended for
    /// at most `longest`.
    pub(crate) fn new(client: Client, subscription: String, deadline: Duration, longest: Duration) -> Self {
        let leases = Arc::new(Mutex::new(Leases::new(deadline, longest)));
        let task = tokio::spawn(extend(client, subscription, deadline, Arc::downgrade(&leases)));
        Self { leases, task: task.abort_handle() }
    }

    pub(crate) fn begin<'a>(&self, ids: impl Iterator<Item = &'a str>) {
        let now = Instant::now();
        let mut leases = self.leases.lock();
        ids.for_each(|id| leases.begin(id, now));
    }

    pub(crate) fn end<'a>(&self, ids: impl Iterator<Item = &'a str>) {
        let mut leases = self.leases.lock();
        ids.for_each(|id| leases.end(id));
    }
}

impl Drop for Extender {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn extend(client: Client, subscription: String, deadline: Duration, leases: Weak<Mutex<Leases>>) {
    loop {
        let Some(period) = leases.upgrade().map(|leases| leases.lock().period()) else { return };
        tokio::time::sleep(period.max(Duration::from_millis(100))).await;
        let Some(due) = leases.upgrade().map(|leases| leases.lock().due(Instant::now())) else { return };
        for ids in due.chunks(BATCH) {
            let request = ModifyAckDeadlineRequest {
                subscription: subscription.clone(),
                ack_ids: ids.into(),
                ack_deadline_seconds: deadline.as_secs() as i32,
            };
            let mut stub = client.subscriber();
            let call = client.expect("extending the deadlines of", &subscription, request, |it| async move {
                stub.modify_ack_deadline(it).await
            });
            if let Err(error) = call.await {
                tracing::warn!(subscription, %error, "messages that are held may be delivered again");
            }
        }
    }
}
