//! A server's link whose answer waits for data to go with.
//!
//! The client has sent messages with its offer, so the application has something to reply to, and mostly does at once. Then answer
//! and reply are one datagram. Else the answer leaves as soon as a reception waits, the connection ends, or the tasks that were
//! ready when the client was let in had their turn.

use super::connection::seal;
use super::{Agreed, End, EpochQueue, Link, Shared};
use crate::wire::joined;
use bertha_core::{Base, Buf, Connection, Error, Runtime};
use futures_util::future::select;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

impl<C: Connection<Data = Buf>> Link<C> {
    /// Sends the first message, with the answer or with the offer; or gives it back, to be sent as any other.
    #[cold]
    pub(super) async fn send_first(&self, message: Buf) -> Result<Option<Buf>, Error> {
        if self.shared.liveness.is_answering() {
            return self.shared.answer_with(message, &self.queue).await;
        }
        if self.shared.liveness.is_unproven() {
            let data = seal(message, self.queue.header)?;
            return self.shared.send_within_credit(data, &self.queue).await.map(|()| None);
        }
        self.shared.send_opening(message).await
    }

    /// As `send_first` for as many as go so. Gives back the one that is to be sent next, if it was taken.
    #[cold]
    pub(super) async fn send_batch_first(
        &self,
        messages: &mut (impl Iterator<Item = Buf> + Send),
    ) -> Result<Option<Buf>, Error> {
        while self.shared.liveness.is_answering() || self.shared.liveness.is_unproven() {
            let Some(message) = messages.next() else { return Ok(None) };
            if let Some(left) = self.send_first(message).await? {
                return Ok(Some(left));
            }
        }
        self.shared.send_batch_opening(messages).await
    }

    /// Waits until the link can be used. Before it waits for the peer, the peer gets its answer. A message if the peer has yet to
    /// prove its address, and there is one.
    #[cold]
    pub(super) async fn receive_first(&self) -> Result<Option<Buf>, Error> {
        if self.shared.liveness.is_unproven() {
            return self.receive_unproven().await;
        }
        if !self.shared.liveness.is_answering() {
            return self.shared.opened().await.map(|()| None);
        }
        self.shared.answer().await;
        self.shared.has_answered();
        Ok(None)
    }
}

impl<C: Connection<Data = Buf>> Shared<C> {
    /// The answer, if it has not left yet. It counts as sent only afterwards: a call that is cancelled meanwhile leaves
    /// it to the next.
    pub(super) fn unsent(&self) -> Option<&[u8]> {
        match self.agreed.get() {
            Some(Agreed::Server { answer, .. }) if self.liveness.is_answering() => Some(answer),
            _ => None,
        }
    }

    /// Sends the answer with `message` behind it, or alone, and then gives the message back.
    async fn answer_with(&self, message: Buf, queue: &Arc<EpochQueue>) -> Result<Option<Buf>, Error> {
        let Some(answer) = self.unsent() else { return Ok(Some(message)) };
        let data = seal(message, queue.header)?;
        match joined(answer, &data, self.base.base().mtu())?.filter(|both| self.may_send(both.len())) {
            Some(both) => {
                self.base.send(both).await?;
                self.has_answered();
            }
            None => {
                self.answer().await;
                self.send_within_credit(data, queue).await?;
            }
        }
        Ok(None)
    }

    /// Sends the answer alone, if it has not left yet.
    pub(super) async fn answer(&self) {
        if let Some(answer) = self.unsent() {
            self.send_bytes(answer).await;
            self.has_answered();
        }
    }

    /// Answers if the datapath takes the message at once. Whether it did.
    pub(super) fn answer_at_once(&self) -> bool {
        pin!(self.answer()).poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    /// Answers in a task of its own, once the datapath takes the message. At most once for a link, which is kept until then, or
    /// until its client has given up.
    pub(super) fn answer_later(self: &Arc<Self>) {
        let (link, runtime) = (self.clone(), self.base.base().runtime().clone());
        let task = self.base.base().runtime().spawn(async move {
            let given_up = pin!(runtime.sleep_until(runtime.now() + link.settings.handshake_timeout));
            select(given_up, pin!(link.answer())).await;
        });
        let _ = self.late_answer.set(task);
    }

    /// Ends the link, unless it has ended already, and tells the peer once; the answer first, without which it would
    /// make no sense of that.
    pub(super) async fn close_at_once(&self, failure: String) {
        let unsent = self.unsent();
        if self.liveness.end(End::Closed) {
            if let Some(answer) = unsent {
                self.send_bytes(answer).await;
            }
            self.send_close(failure).await;
        }
    }
}
