//! Unsolicited reports of the connection to the server.

use super::failure::{forbidden, no_login, unreachable};
use async_nats::{ClientError, Event, ServerError};
use bertha_core::Error;
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Time after which a lost connection to the server is an error. A server that is started again is there earlier.
const PATIENCE: Duration = Duration::from_secs(5);

/// The reports: how often the client has connected, whether it is connected, and which call the server has refused
/// last.
#[derive(Debug, Clone)]
pub(crate) struct Events {
    connected: watch::Sender<u64>,
    server: watch::Sender<Server>,
    refused: watch::Sender<String>,
}

/// The state of the connection to the server.
#[derive(Debug, Clone)]
enum Server {
    Here,
    /// The client tries to connect.
    Away {
        since: Instant,
    },
    /// The server is there, and does not accept the client's credentials.
    Refuses {
        text: String,
    },
}

impl Events {
    pub(crate) fn new() -> Self {
        let server = watch::Sender::new(Server::Here);
        Self { connected: watch::Sender::new(0), server, refused: watch::Sender::new(String::new()) }
    }

    pub(crate) fn on_event(&self, event: &Event) {
        match event {
            Event::Connected => {
                self.server.send_replace(Server::Here);
                self.connected.send_modify(|count| *count += 1);
            }
            Event::Disconnected => drop(self.server.send_replace(Server::Away { since: Instant::now() })),
            Event::ClientError(ClientError::Other(text)) if is_about_login(text) => {
                self.server.send_replace(Server::Refuses { text: text.clone() });
            }
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

    /// Returns the output of `call`, unless the server refuses a call that concerns `topic`, does not accept the
    /// client any more, or is away for longer than the client may need to connect again.
    pub(crate) async fn unless_refused<T>(
        &self,
        topic: &str,
        call: Pin<&mut impl Future<Output = Result<T, Error>>>,
    ) -> Result<T, Error> {
        tokio::select! {
            output = call => output,
            text = self.refusal(topic) => Err(forbidden(&text)),
            error = self.loss() => Err(error),
        }
    }

    /// Waits until the server refuses a call that concerns `topic`, and returns the server's text. The server
    /// reports this to the connection, and leaves the request without an answer.
    async fn refusal(&self, topic: &str) -> String {
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

    /// Waits until the server is away for too long, or does not accept the client, and returns the error.
    async fn loss(&self) -> Error {
        let mut server = self.server.subscribe();
        loop {
            let now = server.borrow_and_update().clone();
            let until = match now {
                Server::Here => None,
                Server::Refuses { text } => return no_login(&text),
                Server::Away { since } => Some(since + PATIENCE),
            };
            let changed = server.changed();
            match until {
                None => drop(changed.await),
                Some(until) => {
                    if tokio::time::timeout_at(until, changed).await.is_err() {
                        return unreachable(format!("no connection for {PATIENCE:?}"));
                    }
                }
            }
        }
    }
}

/// Returns true if the client reports that the server does not accept its credentials.
fn is_about_login(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.contains("authorization violation") || text.contains("failed signing nonce")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha_core::ErrorKind;
    use std::pin::pin;

    async fn kind_of_call(events: &Events, time: u64) -> Option<ErrorKind> {
        let call = pin!(std::future::pending::<Result<(), Error>>());
        let call = events.unless_refused("orders", call);
        let outcome = tokio::time::timeout(Duration::from_secs(time), call).await;
        outcome.ok().map(|outcome| outcome.unwrap_err().kind())
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_is_away_for_too_long_ends_calls() {
        let events = Events::new();
        assert_eq!(kind_of_call(&events, 1_000).await, None);
        events.on_event(&Event::Disconnected);
        assert_eq!(kind_of_call(&events, 4).await, None);
        assert_eq!(kind_of_call(&events, 2).await, Some(ErrorKind::Unreachable));
        // Later calls fail at once.
        assert_eq!(kind_of_call(&events, 0).await, Some(ErrorKind::Unreachable));
        events.on_event(&Event::Connected);
        assert_eq!(kind_of_call(&events, 1_000).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn refused_credentials_end_calls_with_their_reason() {
        let events = Events::new();
        events.on_event(&Event::Disconnected);
        events.on_event(&Event::ClientError(ClientError::Other("timed out".into())));
        assert_eq!(kind_of_call(&events, 1).await, None);
        events.on_event(&Event::ClientError(ClientError::Other("authorization violation".into())));
        assert_eq!(kind_of_call(&events, 1).await, Some(ErrorKind::Unauthenticated));
        let text = "Permissions Violation for Publish to \"orders\"";
        events.on_event(&Event::Connected);
        let (kind, ()) = tokio::join!(kind_of_call(&events, 9), async {
            tokio::task::yield_now().await;
            events.on_event(&Event::ServerError(ServerError::Other(text.into())));
        });
        assert_eq!(kind, Some(ErrorKind::Unauthenticated));
    }
}
