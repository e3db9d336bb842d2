//! The task beside each link, which sends keep-alives, and notices a peer that is gone.

use super::idle::{Idle, TICKS, Verdict};
use super::{End, LinkShared, LinkState, TaskOf};
use bertha_core::{Base, Buf, Connection, Runtime};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

/// Starts the task at its first tick, which most short connections never reach. The task ends once the
/// link has ended, or its handle is dropped.
pub(super) fn spawn<C: Connection<Data = Buf>>(shared: &Arc<LinkShared<C>>, now: Instant) -> TaskOf<C> {
    let runtime = shared.base.base().runtime();
    runtime.spawn_at(now + shared.idle_timeout / TICKS, watch(shared, now))
}

/// Returns the watchdog as a future, which first waits for the first tick.
pub(super) fn from_first_tick<C: Connection<Data = Buf>>(
    shared: &Arc<LinkShared<C>>,
) -> impl Future<Output = ()> + Send + use<C> {
    let runtime = shared.base.base().runtime().clone();
    let now = runtime.now();
    let pause = shared.idle_timeout / TICKS;
    let watching = watch(shared, now);
    async move {
        runtime.sleep_until(now + pause).await;
        watching.await;
    }
}

/// Watches over a link until it has ended or was dropped. The idle time begins at `start`, and the first poll
/// is the first tick.
fn watch<C: Connection<Data = Buf>>(
    shared: &Arc<LinkShared<C>>,
    start: Instant,
) -> impl Future<Output = ()> + Send + use<C> {
    let runtime = shared.base.base().runtime().clone();
    let link = Arc::downgrade(shared);
    let pause = shared.idle_timeout / TICKS;
    let mut idle = Idle::new(shared.idle_timeout, start);
    async move {
        loop {
            let Some(shared) = link.upgrade() else { return };
            if shared.lifecycle.check().is_err() {
                return;
            }
            if shared.lifecycle.is(LinkState::AddressUnvalidated) {
                Box::pin(shared.look_for_confirmation()).await;
            }
            let now = runtime.now();
            let next = pin!(runtime.sleep_until(now + pause));
            let is_attended = match idle.is_keep_alive_next() {
                true => shared.lifecycle.take_attended(),
                false => shared.lifecycle.has_parked_recv(),
            };
            let rest = match idle.tick(now, shared.lifecycle.arrivals(), is_attended) {
                Verdict::Wait => next,
                // Boxed, since it is rare, and each link has such a task. It is given up at the next tick: a
                // peer to which no message can be sent may be dead, and must not keep a link that was dropped
                // meanwhile.
                Verdict::KeepAlive => match select(Box::pin(shared.send_keep_alive()), next).await {
                    Either::Left(((), rest)) => rest,
                    Either::Right(_) => continue,
                },
                Verdict::Dead => {
                    shared.end(End::TimedOut);
                    return;
                }
            };
            drop(shared);
            rest.await;
        }
    }
}
