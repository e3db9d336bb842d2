//! The task beside each link, which sends signs of life and notices when the peer no longer does.

use super::idle::{Idle, TICKS, Verdict};
use super::{End, Shared, TaskOf};
use bertha_core::{Base, Buf, Connection, Runtime};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

/// Starts the task with its first tick, before which there is nothing to do: most short connections never get there. It
/// runs until the handle is dropped.
pub(super) fn set<C: Connection<Data = Buf>>(shared: &Arc<Shared<C>>, now: Instant) -> TaskOf<C> {
    let runtime = shared.base.base().runtime();
    runtime.spawn_at(now + shared.idle_timeout / TICKS, watch(shared, now))
}

/// As [`set`], for a task that has to wait itself.
pub(super) fn later<C: Connection<Data = Buf>>(
    shared: &Arc<Shared<C>>,
) -> impl Future<Output = ()> + Send + use<C> {
    let runtime = shared.base.base().runtime().clone();
    let (now, pause) = (runtime.now(), shared.idle_timeout / TICKS);
    let watching = watch(shared, now);
    async move {
        runtime.sleep_until(now + pause).await;
        watching.await;
    }
}

/// Watches over a link until it has ended or was dropped. The idle time begins at `start`; the first tick is when this is
/// first polled.
fn watch<C: Connection<Data = Buf>>(
    shared: &Arc<Shared<C>>,
    start: Instant,
) -> impl Future<Output = ()> + Send + use<C> {
    let runtime = shared.base.base().runtime().clone();
    let (link, pause) = (Arc::downgrade(shared), shared.idle_timeout / TICKS);
    let mut idle = Idle::new(shared.idle_timeout, start);
    async move {
        loop {
            let Some(shared) = link.upgrade() else { return };
            if shared.liveness.check().is_err() {
                return;
            }
            if shared.liveness.is_unproven() {
                Box::pin(shared.look_for_confirmation()).await;
            }
            let now = runtime.now();
            let next = pin!(runtime.sleep_until(now + pause));
            let is_attended = match idle.is_sign_next() {
                true => shared.liveness.is_attended(),
                false => shared.liveness.is_awaited(),
            };
            let rest = match idle.tick(now, shared.liveness.arrivals(), is_attended) {
                Verdict::Wait => next,
                // Boxed, since it is rare, and there is one such task per link. Given up at the next tick: a peer to
                // which nothing can be sent may be dead, and a link that was dropped meanwhile is not kept for its sake.
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
