//! A server's link whose answer waits for data to go with.
//!
//! The client has sent messages with its offer, so the application has a message to reply to, and mostly
//! replies at once. Then answer and reply are one datagram. Otherwise the answer leaves as soon as a
//! reception waits, the connection ends, or the tasks that were ready when the client was let in have had
//! their turn.

use crate::link::connection::seal;
use crate::link::{Agreed, End, EpochQueue, LinkShared, LinkState};
use crate::wire::joined;
use bertha_core::{Base, Buf, Connection, Error, Runtime};
use futures_util::future::select;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

impl<C: Connection<Data = Buf>> LinkShared<C> {
    /// Returns the answer, if it has not left yet. The answer counts as sent only afterwards: a call that is
    /// cancelled meanwhile leaves the answer to the next call.
    pub(in crate::link) fn pending_answer(&self) -> Option<&[u8]> {
        match self.agreed.get() {
            Some(Agreed::Server { answer, .. }) if self.lifecycle.is(LinkState::AnswerPending) => {
                Some(answer)
            }
            _ => None,
        }
    }

    /// Sends the answer with `message` behind it, or both apart if they don't fit together. Returns the
    /// message if the answer has left already.
    pub(super) async fn send_with_answer(
        &self,
        message: Buf,
        queue: &Arc<EpochQueue>,
    ) -> Result<Option<Buf>, Error> {
        let Some(answer) = self.pending_answer() else { return Ok(Some(message)) };
        let data = seal(message, queue.header)?;
        match joined(answer, &data, self.base.base().mtu())?.filter(|both| self.spend(both.len())) {
            Some(both) => {
                self.base.send(both).await?;
                self.answer_sent();
            }
            None => {
                self.send_answer().await;
                self.send_within_limit(data, queue).await?;
            }
        }
        Ok(None)
    }

    /// Sends the answer alone, if it has not left yet.
    pub(super) async fn send_answer(&self) {
        if let Some(answer) = self.pending_answer() {
            self.send_bytes(answer).await;
            self.answer_sent();
        }
    }

    /// Sends the answer if the datapath takes it at once. Returns true if the answer has left.
    pub(super) fn try_send_answer(&self) -> bool {
        pin!(self.send_answer()).poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    /// Spawns a task that sends the answer once the datapath takes it. This happens at most once for a link,
    /// and the task keeps the link until the answer has left, or the client has given up.
    pub(super) fn spawn_answer(self: &Arc<Self>) {
        let link = self.clone();
        let runtime = self.base.base().runtime().clone();
        let task = self.base.base().runtime().spawn(async move {
            let given_up = pin!(runtime.sleep_until(runtime.now() + link.settings.handshake_timeout));
            select(given_up, pin!(link.send_answer())).await;
        });
        let _ = self.answer_sender.set(task);
    }

    /// Records that the answer has left.
    pub(super) fn answer_sent(&self) {
        let is_validated = || self.unvalidated.as_ref().is_none_or(|address| address.is_validated());
        self.lifecycle.answer_sent(is_validated());
        // The confirmation may have come between the two steps.
        if self.lifecycle.is(LinkState::AddressUnvalidated) && is_validated() {
            self.lifecycle.address_validated();
        }
    }

    /// Ends the link, unless it has ended already, and tells the peer once. A pending answer goes first,
    /// since the peer makes no sense of a close before the answer.
    pub(in crate::link) async fn close_at_once(&self, failure: String) {
        let pending = self.pending_answer();
        if self.lifecycle.end(End::Closed) {
            if let Some(answer) = pending {
                self.send_bytes(answer).await;
            }
            self.send_close(failure).await;
        }
    }
}
