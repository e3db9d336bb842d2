//! The task of a connection that asks the service for messages.

use super::idling::Idling;
use super::inbox::Inbox;
use crate::acknowledging::{AckDelay, Ledger, hold};
use crate::calls::Counters;
use crate::retries::Retries;
use crate::{Abilities, QueueSettings, Subscription};
use bertha_core::{Error, Runtime};
use bertha_runtime::tokio::TokioRuntime;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Asks for messages while they are awaited, with a single call at a time, until the task is dropped. A call
/// that has begun is finished even if the calls that waited for it are gone, so that its messages are not
/// lost until the service delivers them again.
pub(crate) async fn run<S: Subscription>(
    subscription: Arc<S>,
    inbox: Arc<Inbox>,
    ledger: Arc<Ledger<S::Receipt>>,
    counters: Arc<Counters>,
    settings: QueueSettings,
    abilities: Abilities,
) {
    let mut idling = Idling::new(settings.idle_pause);
    let mut retries = Retries::new(&settings);
    loop {
        if !inbox.is_wanted() {
            // The next request has the whole time limit again.
            retries = Retries::new(&settings);
        }
        let limit = inbox.wanted().await.max(settings.prefetch).min(abilities.receive_batch).max(1);
        counters.receives();
        let asked = TokioRuntime.now();
        let pause = match subscription.receive(limit, settings.long_poll).await {
            Ok(burst) if burst.is_empty() => {
                retries = Retries::new(&settings);
                let waited = TokioRuntime.now().saturating_duration_since(asked);
                idling.pause(waited, settings.long_poll)
            }
            Ok(burst) => {
                retries = Retries::new(&settings);
                idling.reset();
                counters.has_received(burst.len(), burst.iter().map(|message| message.payload.len()).sum());
                let mut messages = VecDeque::with_capacity(burst.len());
                let acknowledging = ack_delay(limit, &abilities, settings.ack_delay);
                let outcome =
                    hold(&ledger, burst, acknowledging, settings.acknowledge_by_dropping, |message| {
                        messages.push_back(message);
                    });
                inbox.put(messages, outcome);
                Duration::ZERO
            }
            Err(error) => on_error(error, &mut retries, &inbox, &settings),
        };
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
    }
}

/// Returns the time for which the acknowledgements of a burst wait for others, if `limit` messages were asked
/// for.
fn ack_delay(limit: usize, abilities: &Abilities, delay: Duration) -> AckDelay {
    if abilities.one_by_one {
        AckDelay::ForBurst(delay / 10)
    } else if limit == 1 {
        // A receiver of single messages asks for the next message when it has finished with this message.
        AckDelay::ForBurst(delay)
    } else {
        AckDelay::For(delay)
    }
}

/// Returns the pause before the call is repeated; zero if the error goes to the application, which decides
/// about a repetition.
#[cold]
fn on_error(error: Error, retries: &mut Retries, inbox: &Inbox, settings: &QueueSettings) -> Duration {
    match retries.after(error, TokioRuntime.now(), TokioRuntime.random()) {
        Ok(pause) => pause,
        Err(error) => {
            *retries = Retries::new(settings);
            inbox.put(VecDeque::new(), Err(error));
            Duration::ZERO
        }
    }
}
