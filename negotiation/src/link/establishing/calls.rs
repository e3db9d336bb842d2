//! The calls of a stack on a link that is not up yet, by the state of the link.

use crate::link::connection::seal;
use crate::link::{Link, LinkState};
use bertha_core::{Buf, Connection, Error};

impl<C: Connection<Data = Buf>> Link<C> {
    /// Sends a message with the offer, with the answer, or within the anti-amplification limit. Returns the
    /// message if it is to be sent as on a link that is up.
    #[cold]
    pub(in crate::link) async fn send_before_up(&self, message: Buf) -> Result<Option<Buf>, Error> {
        let lifecycle = &self.shared.lifecycle;
        if lifecycle.is(LinkState::AnswerPending) {
            return self.shared.send_with_answer(message, &self.queue).await;
        }
        if lifecycle.is(LinkState::AddressUnvalidated) {
            let data = seal(message, self.queue.header)?;
            return self.shared.send_within_limit(data, &self.queue).await.map(|()| None);
        }
        self.shared.send_with_offer(message).await
    }

    /// Works as [`send_before_up`](Self::send_before_up) for as many messages as possible. Returns the next
    /// message if it was taken out of `messages` and has yet to be sent.
    #[cold]
    pub(in crate::link) async fn send_batch_before_up(
        &self,
        messages: &mut (impl Iterator<Item = Buf> + Send),
    ) -> Result<Option<Buf>, Error> {
        let lifecycle = &self.shared.lifecycle;
        while lifecycle.is(LinkState::AnswerPending) || lifecycle.is(LinkState::AddressUnvalidated) {
            let Some(message) = messages.next() else { return Ok(None) };
            if let Some(left) = self.send_before_up(message).await? {
                return Ok(Some(left));
            }
        }
        self.shared.send_batch_with_offer(messages).await
    }

    /// Waits until the link has left its state: a pending answer is sent, and an answer of the server is
    /// awaited. While the peer's address is not validated, returns a message as soon as there is one.
    #[cold]
    pub(in crate::link) async fn receive_before_up(&self) -> Result<Option<Buf>, Error> {
        let lifecycle = &self.shared.lifecycle;
        if lifecycle.is(LinkState::AddressUnvalidated) {
            return self.receive_unvalidated().await;
        }
        if !lifecycle.is(LinkState::AnswerPending) {
            return self.shared.wait_for_answer().await.map(|()| None);
        }
        self.shared.send_answer().await;
        self.shared.answer_sent();
        Ok(None)
    }
}
