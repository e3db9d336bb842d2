//! The events of a participant, counted for its metrics.

use crate::history::What;
use bertha_core::Error;
use bertha_program::Watched;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The numbers of a participant's events. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventCounts(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    published: AtomicU64,
    failed: AtomicU64,
    received: AtomicU64,
    changes: AtomicU64,
    refused: AtomicU64,
    /// The number at this moment.
    participants: AtomicU64,
}

impl EventCounts {
    /// Counts an event.
    pub(crate) fn count(&self, what: &What) {
        let counter = match what {
            What::Sent { error: None, .. } => &self.0.published,
            What::Sent { error: Some(_), .. } => &self.0.failed,
            What::Received { .. } => &self.0.received,
            What::Changed { .. } => &self.0.changes,
            What::Refused { .. } => &self.0.refused,
            What::Participants { count } => return self.0.participants.store(*count as u64, Relaxed),
            What::Joined { .. } | What::Sending { .. } | What::Left => return,
        };
        counter.fetch_add(1, Relaxed);
    }

    /// Adds the numbers to the metrics of the program.
    pub(crate) fn watch(&self, watched: &Watched) -> Result<(), Error> {
        let read = |read: fn(&Counts) -> &AtomicU64| {
            let counts = self.0.clone();
            move || read(&counts).load(Relaxed)
        };
        let published = read(|counts| &counts.published);
        watched.counter("pubsub_messages_published_total", "Messages that were published.", published)?;
        let failed = read(|counts| &counts.failed);
        watched.counter("pubsub_messages_failed_total", "Messages that could not be published.", failed)?;
        let received = read(|counts| &counts.received);
        watched.counter("pubsub_messages_received_total", "Messages that were received.", received)?;
        let changes = read(|counts| &counts.changes);
        watched.counter("pubsub_stack_changes_total", "Changes of the stack.", changes)?;
        let refused = read(|counts| &counts.refused);
        watched.counter("pubsub_orders_refused_total", "Orders of the input that were refused.", refused)?;
        let participants = read(|counts| &counts.participants);
        watched.gauge("pubsub_participants", "Participants that are present.", participants)
    }
}
