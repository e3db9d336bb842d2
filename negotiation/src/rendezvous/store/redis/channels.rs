//! The watched channels of the server, over the connection that also carries the requests.

use crate::rendezvous::store::transaction::Revision;
use redis::aio::MultiplexedConnection;
use redis::{Msg, PushInfo, PushKind, RedisError};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::runtime::Handle;
use tokio::sync::watch;

/// The watched channels of one connection to the server.
#[derive(Default)]
pub(super) struct Channels {
    known: Mutex<HashMap<String, Channel>>,
    /// Held while this end subscribes to a channel or unsubscribes, so that the two requests don't overtake
    /// each other.
    turn: tokio::sync::Mutex<()>,
    is_over: AtomicBool,
}

struct Channel {
    reached: watch::Sender<Revision>,
    /// True if the server has confirmed that it reports changes from now on.
    is_confirmed: bool,
    watchers: usize,
}

impl Channels {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Channel>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles a push of the server. A push for a channel without watchers, or without a revision, is
    /// dropped.
    pub(super) fn on_push(&self, push: PushInfo) {
        if push.kind == PushKind::Disconnection {
            return self.end();
        }
        let Some(message) = Msg::from_push_info(push) else { return };
        let Ok(revision) = message.get_payload() else { return };
        if let Some(channel) = self.lock().get(message.get_channel_name()) {
            channel.reached.send_replace(Revision(revision));
        }
    }

    /// Ends all watches: the connection is not usable any more.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.lock().clear();
    }

    /// Returns true if the connection was lost.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// A watcher's part in a channel. Dropping the last part unsubscribes, if it is dropped within a tokio
/// runtime; else the server goes on reporting, and its reports are dropped.
pub(super) struct Subscription {
    channels: Arc<Channels>,
    connection: MultiplexedConnection,
    channel: String,
    reached: watch::Receiver<Revision>,
}

impl Subscription {
    /// Watches `channel`: subscribes, unless other watchers have subscribed already.
    pub(super) async fn new(
        channels: Arc<Channels>,
        connection: MultiplexedConnection,
        channel: String,
    ) -> Result<Self, RedisError> {
        let mut subscription = Self::enter(channels, connection, channel);
        if !subscription.is_confirmed() {
            subscription.ask().await?;
        }
        Ok(subscription)
    }

    fn enter(channels: Arc<Channels>, connection: MultiplexedConnection, channel: String) -> Self {
        let reached = {
            let mut known = channels.lock();
            let entry = known.entry(channel.clone()).or_insert_with(|| Channel {
                reached: watch::Sender::new(Revision::default()),
                is_confirmed: false,
                watchers: 0,
            });
            entry.watchers += 1;
            entry.reached.subscribe()
        };
        Self { channels, connection, channel, reached }
    }

    fn is_confirmed(&self) -> bool {
        self.channels.lock().get(&self.channel).is_some_and(|channel| channel.is_confirmed)
    }

    async fn ask(&mut self) -> Result<(), RedisError> {
        let _turn = self.channels.turn.lock().await;
        // Another watcher may have subscribed before.
        if self.is_confirmed() {
            return Ok(());
        }
        self.connection.subscribe(&self.channel).await?;
        if let Some(channel) = self.channels.lock().get_mut(&self.channel) {
            channel.is_confirmed = true;
        }
        Ok(())
    }

    /// Waits for the next revision. `None` once the connection to the server is lost. Cancellation-safe.
    pub(super) async fn next(&mut self) -> Option<Revision> {
        self.reached.changed().await.ok()?;
        Some(*self.reached.borrow_and_update())
    }
}

/// Unsubscribes from `channel`, if it still has no watchers once this task holds `turn`.
async fn give_up(channels: Arc<Channels>, mut connection: MultiplexedConnection, channel: String) {
    let _turn = channels.turn.lock().await;
    let is_unused = {
        let mut known = channels.lock();
        known.get(&channel).is_some_and(|channel| channel.watchers == 0) && known.remove(&channel).is_some()
    };
    if is_unused && let Err(error) = connection.unsubscribe(&channel).await {
        tracing::debug!(target: "bertha::negotiation", %error, channel, "the server was not told that nobody watches");
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let is_last = self.channels.lock().get_mut(&self.channel).is_some_and(|channel| {
            channel.watchers = channel.watchers.saturating_sub(1);
            channel.watchers == 0
        });
        if is_last && let Ok(runtime) = Handle::try_current() {
            let channel = std::mem::take(&mut self.channel);
            runtime.spawn(give_up(self.channels.clone(), self.connection.clone(), channel));
        }
    }
}
