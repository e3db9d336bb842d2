//! What runs beside each link, says "alive", and notices when the peer no longer does.

use super::{End, Shared};
use crate::proto::{Idle, TICKS, Verdict};
use bertha_core::{Base, Buf, Connection, Runtime};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

/// Watches over a link until it has ended, or nobody has it any more.
pub(super) fn watch<C: Connection<Data = Buf>>(
    shared: &Arc<Shared<C>>,
) -> impl Future<Output = ()> + Send + use<C> {
    let runtime = shared.base.base().runtime().clone();
    let pause = shared.idle_timeout / TICKS;
    let (link, has_to_answer) = (Arc::downgrade(shared), shared.liveness.is_answering());
    async move {
        if has_to_answer {
            // The application gets its turn, and may have something to say.
            turn().await;
            let Some(shared) = link.upgrade() else { return };
            if shared.liveness.is_answering() {
                Box::pin(shared.answer()).await;
            }
        }
        let mut idle = Idle::default();
        loop {
            runtime.sleep_until(runtime.now() + pause).await;
            let Some(shared) = link.upgrade() else { return };
            if shared.liveness.is_opening() {
                continue;
            }
            if shared.liveness.check().is_err() {
                return;
            }
            match idle.tick(shared.liveness.arrivals(), shared.liveness.is_awaited()) {
                // Boxed, here and above, since it is rare, and there is one such task per link.
                Verdict::Alive => Box::pin(shared.send_keep_alive()).await,
                Verdict::Dead => {
                    shared.liveness.end(End::TimedOut);
                }
            }
        }
    }
}

/// Lets the tasks run that are ready by now.
async fn turn() {
    let mut has_waited = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut has_waited, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
