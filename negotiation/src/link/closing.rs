//! The end of a link that this end closes.

use super::{End, LinkShared};
use crate::handshake::ResetMeaning;
use crate::shortage::or_lost;
use crate::wire::{self, Kind, Tag};
use bertha_core::{Base, Buf, Connection, Error, ErrorKind, Runtime};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of closes that are sent before the peer counts as gone.
const CLOSE_ATTEMPTS: u32 = 3;

/// The peer's reply to a close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    /// The peer has seen the close, or does not know the connection.
    Seen,
    /// The peer asks if this end is there. It may not know the connection, and then proves that in reply to a
    /// keep-alive.
    AreYouThere,
    /// The peer closes as well.
    ClosesToo,
}

impl<C: Connection<Data = Buf>> LinkShared<C> {
    /// Sends the close, after the answer if that has not left yet.
    ///
    /// Over a base that loses messages the caller waits for the first close only: a task repeats the close
    /// until the peer has seen it, or counts as gone, and then closes the base. A reliable base has promised
    /// that its messages arrive, so the caller waits for the peer, and for the base to deliver the messages,
    /// unless the base [delivers them alone](Self::close_aside). If the peer takes no message for the time of
    /// all attempts, a task goes on.
    pub(super) async fn close(self: &Arc<Self>) -> Result<(), Error> {
        let unsent = self.pending_answer().map(<[u8]>::to_vec);
        if self.close_before_answer() || !self.end(End::Closed) {
            return Ok(());
        }
        if self.base.base().delivers_alone() {
            return self.close_aside(unsent).await;
        }
        if self.base.base().properties().reliable {
            if self.close_until_seen(unsent.as_deref(), 0).await {
                return self.close_base().await;
            }
            // The peer takes no message at the moment. Without a close behind the messages that it has yet to
            // receive, it would report a connection that was cut.
            let link = self.clone();
            self.go_on(async move {
                link.within(link.idle_timeout, link.send_close_once(unsent.as_deref())).await;
                let _ = link.close_base().await;
            });
            return Ok(());
        }
        let is_seen = self.in_time(self.send_close_once(unsent.as_deref())).await;
        let link = self.clone();
        self.go_on(async move {
            if is_seen.is_none() || link.in_time(link.until_close_is_seen()).await.is_none() {
                link.close_until_seen(unsent.as_deref(), 1).await;
            }
            let _ = link.close_base().await;
        });
        Ok(())
    }

    /// Sends the close over a base that delivers without this process.
    ///
    /// The caller waits until the base has everything, and for some time for the peer: a system resets a stream
    /// whose end is gone while the peer still sends, and what it has not delivered by then is lost. A task waits
    /// for a peer that does something else than receive.
    async fn close_aside(self: &Arc<Self>, unsent: Option<Vec<u8>>) -> Result<(), Error> {
        let handing_over = async {
            self.send_close_once(unsent.as_deref()).await;
            self.base.drain().await
        };
        let all_attempts = self.settings.close_timeout * CLOSE_ATTEMPTS;
        let handed_over = self.within(all_attempts, handing_over).await;
        let is_taken = handed_over.is_some();
        let handed_over = handed_over.unwrap_or(Ok(()));
        if is_taken && self.within(self.settings.close_wait, self.until_close_is_seen()).await.is_some() {
            let closed = self.close_base().await;
            return handed_over.and(closed);
        }
        let link = self.clone();
        self.go_on(async move {
            if is_taken {
                link.within(all_attempts, link.until_close_is_seen()).await;
            } else {
                // Without a close behind the messages that the peer has yet to receive, it would report a
                // connection that was cut.
                link.within(link.idle_timeout, link.send_close_once(unsent.as_deref())).await;
            }
            let _ = link.close_base().await;
        });
        handed_over
    }

    /// Lets a task close. It has the link and the link the task, until the task is done.
    fn go_on(&self, closing: impl Future<Output = ()> + Send + 'static) {
        let _ = self.closing.set(self.base.base().runtime().spawn(closing));
    }

    /// Sends the close until the peer has seen it, or all attempts were made; `made` attempts were made
    /// before. Returns true if the base has taken a close.
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

    /// Returns the result of a step of the close, if the step takes no longer than the close time-out.
    async fn in_time<T>(&self, step: impl Future<Output = T>) -> Option<T> {
        self.within(self.settings.close_timeout, step).await
    }

    /// Returns the result of a step, if the step takes no longer than this time.
    async fn within<T>(&self, time: Duration, step: impl Future<Output = T>) -> Option<T> {
        let runtime = self.base.base().runtime();
        let deadline = pin!(runtime.sleep_until(runtime.now() + time));
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

    /// Reads until the peer has seen the close, or closes as well, or the base fails. Data that arrives
    /// meanwhile came after the close and is dropped.
    async fn until_close_is_seen(&self) {
        while let Ok(message) = or_lost(self.base.recv().await) {
            // Lost data comes again, after the close was repeated.
            let Some(message) = message else { return std::future::pending().await };
            match self.reply_to_close(&message) {
                Some(Reply::Seen) => return,
                Some(Reply::AreYouThere) => self.send_keep_alive().await,
                Some(Reply::ClosesToo) => return self.send_close_seen(Tag::of(self.id)).await,
                None => self.count_dropped(),
            }
        }
    }

    /// Returns the peer's reply to a close; `None` if `message` is no reply to a close.
    pub(super) fn reply_to_close(&self, message: &[u8]) -> Option<Reply> {
        let (kind, _) = wire::header(message).filter(|(_, tag)| *tag == Tag::of(self.id))?;
        let session = self.session();
        match kind {
            Kind::CloseSeen if session.is_close_seen(message) => Some(Reply::Seen),
            Kind::Reset => ResetMeaning::read(session, message).map(|meaning| match meaning {
                ResetMeaning::AreYouThere => Reply::AreYouThere,
                ResetMeaning::Reset => Reply::Seen,
            }),
            Kind::Close if session.decode_close(message).is_ok() => Some(Reply::ClosesToo),
            _ => None,
        }
    }
}
