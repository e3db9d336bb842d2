//! The task of a connection that acknowledges its messages.

use super::gathering::{Call, Effect};
use super::ledger::{Ledger, Step};
use crate::calls::Counters;
use crate::retries::Retries;
use crate::{QueueSettings, Subscription};
use bertha_core::{Error, Runtime};
use bertha_runtime::tokio::TokioRuntime;
use futures_util::future::select;
use std::pin::pin;
use std::sync::Arc;

/// Makes calls as they become due. Once the connection has ended, the task makes the last calls, for at most
/// [`close_timeout`](QueueSettings::close_timeout), and closes the subscription.
pub(crate) async fn run<S: Subscription>(
    subscription: Arc<S>,
    ledger: Arc<Ledger<S::Receipt>>,
    counters: Arc<Counters>,
    settings: QueueSettings,
) {
    // The guard also works if the runtime ends, and drops this task in the middle.
    let _end = OnDrop(|| ledger.has_ended());
    let work = async {
        work(&*subscription, &ledger, &counters, &settings).await;
        if let Err(error) = subscription.close().await {
            tracing::debug!(%error, "a subscription was not closed in good order");
        }
    };
    let time_is_up = async {
        ledger.ending().await;
        tokio::time::sleep(settings.close_timeout).await;
    };
    select(pin!(work), pin!(time_is_up)).await;
}

async fn work<S: Subscription>(
    subscription: &S,
    ledger: &Ledger<S::Receipt>,
    counters: &Counters,
    settings: &QueueSettings,
) {
    loop {
        match ledger.next() {
            Step::Make(call) => {
                if let Err(error) = make(subscription, &call, counters, settings).await {
                    failed(&call, &error, counters);
                }
            }
            Step::Wait(None) => ledger.released().await,
            Step::Wait(Some(due)) => {
                let alarm = pin!(tokio::time::sleep_until(due.into()));
                select(alarm, pin!(ledger.released())).await;
            }
            Step::End => return,
        }
    }
}

async fn make<S: Subscription>(
    subscription: &S,
    call: &Call<S::Receipt>,
    counters: &Counters,
    settings: &QueueSettings,
) -> Result<(), Error> {
    let mut retries = Retries::new(settings);
    loop {
        let outcome = match call.effect {
            Effect::Acknowledge => {
                counters.acknowledges();
                subscription.acknowledge(&call.receipts).await
            }
            Effect::GiveBack => {
                counters.gives_back();
                subscription.give_back(&call.receipts).await
            }
            Effect::GiveBackUnseen => {
                counters.gives_back();
                subscription.give_back_unseen(&call.receipts).await
            }
        };
        let Err(error) = outcome else { return Ok(()) };
        let pause = retries.after(error, TokioRuntime.now(), TokioRuntime.random())?;
        tokio::time::sleep(pause).await;
    }
}

/// Records a failed call. Its messages are delivered again, after the service's time of redelivery.
#[cold]
fn failed<R>(call: &Call<R>, error: &Error, counters: &Counters) {
    let messages = call.receipts.len();
    match call.effect {
        Effect::Acknowledge => {
            counters.has_not_acknowledged(messages);
            tracing::warn!(%error, messages, "messages were not acknowledged, and will be delivered again");
        }
        Effect::GiveBack | Effect::GiveBackUnseen => {
            tracing::debug!(%error, messages, "messages were not given back")
        }
    }
}

struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
