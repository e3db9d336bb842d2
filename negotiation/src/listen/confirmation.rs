//! The wait until a client has proved that it has just made its offer.

use super::replies::reply_with;
use super::server::{Admitted, Server};
use crate::Runs;
use crate::auth::NonceByOffer;
use crate::handshake::{Accepted, AmplificationLimit, ConfirmationWait, Step, are_you_there};
use crate::shortage::or_lost;
use bertha_core::{Base, Buf, Connection, Runtime};
use futures_util::future::{Either, select};
use std::collections::VecDeque;
use std::pin::pin;

impl<S, D> Server<S, D>
where
    S: Send + Sync + 'static,
    D: Runs<S>,
{
    /// Waits for the confirmation of `first`, or of another offer that arrives from its address meanwhile.
    /// Returns the confirmed offer, with the messages that overtook the confirmation. Returns `None` if no
    /// confirmation comes: the client is gone, or the offer was replayed or had a forged address. That is
    /// counted and not reported.
    pub(super) async fn confirmation(
        &self,
        base: &D::Connection,
        first: Accepted,
        amplification_limit: AmplificationLimit,
        fresh: &NonceByOffer,
    ) -> Option<(Accepted, VecDeque<Buf>)> {
        let _unconfirmed = (amplification_limit != AmplificationLimit::UNLIMITED)
            .then(|| self.admissions.unconfirmed.take());
        let runtime = base.base().runtime();
        let settings = &self.settings;
        let deadline = runtime.now() + settings.handshake_timeout;
        let mut pending = ConfirmationWait::new(
            first,
            amplification_limit,
            settings.early_messages,
            settings.repeat_after,
            runtime.now(),
        );
        while runtime.now() < deadline {
            if let Some(reply) = pending.poll_transmit(runtime.now()) {
                reply_with(base, &reply).await;
            }
            let timer = pin!(runtime.sleep_until(pending.poll_timeout().min(deadline)));
            let Either::Left((message, timer)) = select(pin!(base.recv()), timer).await else { continue };
            let Ok(message) = or_lost(message) else { break };
            let Some(message) = message else {
                timer.await;
                continue;
            };
            match pending.handle(message) {
                Step::Drop => self.count_dropped(),
                Step::Unknown(message) => {
                    self.count_dropped();
                    if let Some(reply) = are_you_there(&message, &settings.credentials) {
                        reply_with(base, &reply).await;
                    }
                }
                Step::Kept => {}
                Step::Repeat(reply) => reply_with(base, &reply).await,
                Step::Confirmed(accepted, early) => return Some((*accepted, early)),
                Step::Decide(offer) => {
                    // A refusal went out; it does not end the wait for the others.
                    let now = runtime.now();
                    let fresh = |hash: &[u8; 32]| fresh.of(hash, now, || runtime.random());
                    let Ok(Some(Admitted { accepted, amplification_limit, .. })) =
                        self.decide(now, base, &offer, true, fresh).await
                    else {
                        continue;
                    };
                    if let Some(reply) = pending.add(*accepted, amplification_limit) {
                        reply_with(base, &reply).await;
                    }
                }
            }
        }
        tracing::debug!(target: "bertha::negotiation", peer = %base.base().peer_addr(), "an offer was not confirmed");
        self.count_dropped();
        None
    }
}
