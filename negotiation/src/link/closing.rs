//! The end of a link that this end closes.

use super::{End, Shared};
use crate::shortage::or_lost;
use crate::wire::{self, Kind, Tag};
use bertha_core::{Base, Buf, Connection, Error, ErrorKind, Runtime};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::sync::Arc;

/// How often a close is sent before the peer is taken for gone.
const CLOSE_ATTEMPTS: u32 = 3;

/// The peer's reply to a close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    /// It has seen it, or knows no such connection.
    Seen,
    /// It may know no such connection, and can prove that to a sign of life.
    Asks,
    /// It closes as well.
    ClosesToo,
}

impl<C: Connection<Data = Buf>> Shared<C> {
    /// Sends the close, after the answer if that has not left yet.
    ///
    /// Over a base that loses messages this is all that the caller waits for: a task repeats the close until the peer has
    /// seen it, or is taken for gone, and then closes the base. A reliable base has promised that its messages arrive, so
    /// there the caller waits for the peer, and for the base to hand them over; if the peer takes nothing for so long, a task goes on.
    pub(super) async fn close(self: &Arc<Self>) -> Result<(), Error> {
        let unsent = self.unsent().map(<[u8]>::to_vec);
        if self.close_unopened() || !self.liveness.end(End::Closed) {
            return Ok(());
        }
        if self.base.base().properties().reliable {
            if self.close_until_seen(unsent.as_deref(), 0).await {
                return self.close_base().await;
            }
            // The peer takes nothing at the moment. Without the message behind all that it has yet to receive, it would take the
            // connection for cut.
            let link = self.clone();
            let task = self.base.base().runtime().spawn(async move {
                let runtime = link.base.base().runtime();
                let deadline = pin!(runtime.sleep_until(runtime.now() + link.idle_timeout));
                select(pin!(link.send_close_once(unsent.as_deref())), deadline).await;
                let _ = link.close_base().await;
            });
            let _ = self.closing.set(task);
            return Ok(());
        }
        let is_seen = self.in_time(self.send_close_once(unsent.as_deref())).await;
        let link = self.clone();
        let task = self.base.base().runtime().spawn(async move {
            if is_seen.is_none() || link.in_time(link.until_close_is_seen()).await.is_none() {
                link.close_until_seen(unsent.as_deref(), 1).await;
            }
            let _ = link.close_base().await;
        });
        // The task has the link and the link the task, until the task is done.
        let _ = self.closing.set(task);
        Ok(())
    }

    /// Sends the close until the peer has seen it, or has had all attempts, of which so many were made. Returns whether the base has
    /// taken it.
    async fn close_until_seen(&self, unsent: Option<&[u8]>, made: u32) -> bool {
        let mut is_taken = made > 0;
        for _ in made..CLOSE_ATTEMPTS {
            let attempt = async {
                self.send_close_once(unsent).await;
                is_taken = true;
                self.until_close_is_seen().await;
            };
            if self.in_time(attempt).await.is_some() {
                return true;
            }
        }
        is_taken
    }

    async fn close_base(&self) -> Result<(), Error> {
        let late =
            || Error::new(ErrorKind::TimedOut, "the peer has not taken all that was sent").at("negotiation");
        self.in_time(self.base.close()).await.unwrap_or_else(|| Err(late()))
    }

    /// The result of a step of the close, if the step takes no longer than the close time-out.
    async fn in_time<T>(&self, step: impl Future<Output = T>) -> Option<T> {
        let runtime = self.base.base().runtime();
        let deadline = pin!(runtime.sleep_until(runtime.now() + self.settings.close_timeout));
        match select(pin!(step), deadline).await {
            Either::Left((done, _)) => Some(done),
            Either::Right(_) => None,
        }
    }

    async fn send_close_once(&self, unsent: Option<&[u8]>) {
        if let Some(answer) = unsent {
            self.send_bytes(answer).await;
        }
        self.send_close(String::new()).await;
    }

    /// Reads until the peer has seen the close, or closes as well, or can't be heard any more. Data that arrives now
    /// came after the close and is dropped.
    async fn until_close_is_seen(&self) {
        while let Ok(message) = or_lost(self.base.recv().await) {
            // Lost data comes again, after the close does.
            let Some(message) = message else { return std::future::pending().await };
            match self.reply_to_close(&message) {
                Some(Reply::Seen) => return,
                Some(Reply::Asks) => self.send_keep_alive().await,
                Some(Reply::ClosesToo) => return self.send_close_seen(Tag::of(self.id)).await,
                None => self.count_dropped(),
            }
        }
    }

    /// The peer's reply to a close, if `message` is one.
    pub(super) fn reply_to_close(&self, message: &[u8]) -> Option<Reply> {
        let (kind, _) = wire::header(message).filter(|(_, tag)| *tag == Tag::of(self.id))?;
        let session = self.session();
        match kind {
            Kind::CloseSeen if session.is_close_seen(message) => Some(Reply::Seen),
            Kind::Reset if session.asks_for_keep_alive(message) => Some(Reply::Asks),
            Kind::Reset if session.is_reset(message) => Some(Reply::Seen),
            Kind::Close if session.decode_close(message).is_ok() => Some(Reply::ClosesToo),
            _ => None,
        }
    }
}
