//! The task of a connection, which sends messages when they are due.

use super::shared::{Gather, GatheringShared};
use bertha_core::{Base, Connection, Runtime};
use futures_util::future::select;
use std::pin::pin;
use std::sync::Arc;

/// Sends messages as they become due until the connection below ends.
pub(crate) async fn run<Inner, G>(shared: Arc<GatheringShared<Inner, G>>)
where
    Inner: Connection,
    G: Gather<Item = Inner::Data>,
{
    let runtime = shared.inner.base().runtime();
    loop {
        let sent = shared.inner.send_batch(std::iter::from_fn(|| shared.next())).await;
        let due = {
            let mut state = shared.state.lock();
            state.counts.bursts += u64::from(state.is_sending);
            state.is_sending = false;
            if let Err(error) = sent {
                state.on_error(error);
            }
            if state.failure.is_some() { None } else { Some(state.gathered.due()) }
        };
        shared.notify_sent();
        let Some(due) = due else { return };
        let notified = pin!(shared.to_send.notified());
        match due {
            None => notified.await,
            Some(due) => {
                let alarm = pin!(runtime.sleep_until(shared.at(due)));
                select(alarm, notified).await;
            }
        }
    }
}
