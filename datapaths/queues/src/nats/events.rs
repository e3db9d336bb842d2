//! Unsolicited reports of the connection to the server.

use async_nats::{Event, ServerError};
use tokio::sync::watch;

/// The reports: how often the client has connected, and which call the server has refused last.
#[derive(Debug, Clone)]
pub(crate) struct Events {
    connected: watch::Sender<u64>,
    refused: watch::Sender<String>,
}

impl Events {
    pub(crate) fn new() -> Self {
        Self { connected: watch::Sender::new(0), refused: watch::Sender::new(String::new()) }
    }

    pub(crate) fn on_event(&self, event: &Event) {
        match event {
            Event::Connected => self.connected.send_modify(|count| *count += 1),
            Event::ServerError(ServerError::Other(text))
                if text.to_ascii_lowercase().contains("permissions violation") =>
            {
                self.refused.send_replace(text.clone());
            }
            _ => {}
        }
        tracing::debug!(%event, "NATS");
    }

    /// Returns a number that changes with each connection to a server.
    pub(crate) fn connections(&self) -> watch::Receiver<u64> {
        self.connected.subscribe()
    }

    /// Waits until the server refuses a call that concerns `topic`, and returns the server's text. The server
    /// reports this to the connection, and leaves the request without an answer.
    pub(crate) async fn refusal(&self, topic: &str) -> String {
        let mut refused = self.refused.subscribe();
        // The loop ends only without the sender, which `self` owns.
        while refused.changed().await.is_ok() {
            let text = refused.borrow_and_update();
            if text.contains(topic) {
                return text.clone();
            }
        }
        std::future::pending().await
    }
}
