//! What runs beside each link, says "alive", and notices when the peer no longer does.

use super::{End, Shared};
use crate::proto::{Idle, TICKS, Verdict};
use bertha_core::{Base, Buf, Connection, Runtime};
use std::sync::Arc;

/// Watches over a link until it has ended, or nobody has it any more.
pub(super) fn watch<C: Connection<Data = Buf>>(
    shared: &Arc<Shared<C>>,
) -> impl Future<Output = ()> + Send + use<C> {
    let runtime = shared.base.base().runtime().clone();
    let pause = shared.idle_timeout / TICKS;
    let link = Arc::downgrade(shared);
    async move {
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
                Verdict::Alive => shared.send_keep_alive().await,
                Verdict::Dead => {
                    shared.liveness.end(End::TimedOut);
                }
            }
        }
    }
}
