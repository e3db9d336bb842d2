//! What runs beside each link, says "alive", and notices when the peer no longer does.

use super::{End, Shared, TaskOf};
use crate::handshake::{Idle, TICKS, Verdict};
use bertha_core::{Base, Buf, Connection, Runtime};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

/// Has a link watched over from its first tick on, until the handle is dropped. There is nothing to do before, and most short
/// connections never get there.
pub(super) fn set<C: Connection<Data = Buf>>(shared: &Arc<Shared<C>>, now: Instant) -> TaskOf<C> {
    let runtime = shared.base.base().runtime();
    runtime.spawn_at(now + shared.idle_timeout / TICKS, watch(shared))
}

/// As [`set`], for a task that has to wait itself.
pub(super) fn later<C: Connection<Data = Buf>>(
    shared: &Arc<Shared<C>>,
) -> impl Future<Output = ()> + Send + use<C> {
    let runtime = shared.base.base().runtime().clone();
    let (pause, watching) = (shared.idle_timeout / TICKS, watch(shared));
    async move {
        runtime.sleep_until(runtime.now() + pause).await;
        watching.await;
    }
}

/// Watches over a link until it has ended, or nobody has it any more. The first tick is now.
fn watch<C: Connection<Data = Buf>>(shared: &Arc<Shared<C>>) -> impl Future<Output = ()> + Send + use<C> {
    let runtime = shared.base.base().runtime().clone();
    let (link, pause) = (Arc::downgrade(shared), shared.idle_timeout / TICKS);
    async move {
        let mut idle = Idle::default();
        loop {
            let Some(shared) = link.upgrade() else { return };
            if shared.liveness.check().is_err() {
                return;
            }
            let next = pin!(runtime.sleep_until(runtime.now() + pause));
            let rest = match idle.tick(shared.liveness.arrivals(), shared.liveness.is_attended()) {
                // Boxed, since it is rare, and there is one such task per link. Given up at the next tick: a peer to whom nothing can be
                // sent may be dead, and a link that was dropped meanwhile must not be kept for its sake.
                Verdict::Alive => match select(Box::pin(shared.send_keep_alive()), next).await {
                    Either::Left(((), rest)) => rest,
                    Either::Right(_) => continue,
                },
                Verdict::Dead => {
                    shared.liveness.end(End::TimedOut);
                    return;
                }
            };
            drop(shared);
            rest.await;
        }
    }
}
