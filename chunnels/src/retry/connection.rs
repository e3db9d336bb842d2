//! The connection that sends again.

use super::statistics::SharedRequests;
use super::{Limits, Requests};
use bertha_core::{Base, Connection, DropCounter, Error, ErrorKind, Runtime, debug_fields, forward};
use futures_util::future::select;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// A message whose reply carries the same id.
pub trait Correlated {
    /// Returns the id, which no other request in flight has.
    fn id(&self) -> u64;
}

/// The connection of [`Retry`](super::Retry).
///
/// `send` waits while the window is full, until `recv` receives a reply: so one task sends and another
/// receives. Only `recv` sends requests again. It fails with [`TimedOut`](ErrorKind::TimedOut) for each
/// request that is given up, and the connection goes on. A `send` that is dropped may have sent its request
/// or not; if the request was under way, its reply is still awaited. Requests in flight do not survive a
/// change of the stack.
pub struct RetryConnection<Inner: Connection> {
    inner: Inner,
    start: Instant,
    requests: Arc<SharedRequests<Inner::Data>>,
    /// The requests that were given up, until `recv` has reported them.
    given_up: Mutex<VecDeque<u64>>,
    /// Counts replies to requests that have a reply already, and to requests that were given up.
    vain: DropCounter,
    /// Notified when there may be room in the window.
    room: Notify,
    /// Notified when the first request is in flight, so that `recv` waits for its time-out.
    armed: Notify,
}

impl<Inner: Connection<Data: Correlated + Clone>> RetryConnection<Inner> {
    pub(super) fn new(inner: Inner, limits: Limits, vain: DropCounter) -> Self {
        let start = inner.base().runtime().now();
        let requests = Arc::new(SharedRequests(Mutex::new(Requests::new(limits))));
        let given_up = Mutex::default();
        let room = Notify::new();
        let armed = Notify::new();
        Self { inner, start, requests, given_up, vain, room, armed }
    }

    /// Returns the state, which tells about itself.
    pub(super) fn observed(&self) -> &Arc<SharedRequests<Inner::Data>> {
        &self.requests
    }

    /// Returns the number of requests that were sent again.
    pub fn resent(&self) -> u64 {
        self.requests.0.lock().resent()
    }

    fn now(&self) -> Duration {
        self.inner.base().runtime().now().saturating_duration_since(self.start)
    }

    /// Waits for room in the window, and registers the request there.
    async fn register(&self, request: Inner::Data) {
        loop {
            let mut freed = pin!(self.room.notified());
            freed.as_mut().enable();
            {
                let mut requests = self.requests.0.lock();
                if requests.room() > 0 {
                    let is_first = requests.next_deadline().is_none();
                    requests.on_send(request.id(), request, self.now());
                    if is_first {
                        self.armed.notify_one();
                    }
                    return;
                }
            }
            freed.await;
        }
    }

    /// Sends again the requests that are due. Returns the time at which the next request is due.
    async fn resend(&self) -> Result<Option<Duration>, Error> {
        let mut again = Vec::new();
        let (next, given_up) = {
            let mut requests = self.requests.0.lock();
            let mut given_up = self.given_up.lock();
            // The check is made not only at a time-out: a reply makes room for requests that were lost
            // before.
            requests.poll(
                self.now(),
                |_, request| again.push(request.clone()),
                |id, _| given_up.push_back(id),
            );
            if requests.room() > 0 {
                self.room.notify_waiters();
            }
            (requests.next_deadline(), given_up.pop_front())
        };
        if !again.is_empty() {
            self.inner.send_batch(again.into_iter()).await?;
        }
        match given_up {
            Some(id) => Err(Error::new(ErrorKind::TimedOut, format!("no reply to the request {id}"))),
            None => Ok(next),
        }
    }
}

impl<Inner: Connection<Data: Correlated + Clone>> Connection for RetryConnection<Inner> {
    type Data = Inner::Data;
    type Base = Inner::Base;

    forward!(self.inner => base, mtu, drain, close);

    async fn send(&self, message: Self::Data) -> Result<(), Error> {
        let id = message.id();
        self.register(message.clone()).await;
        self.inner.send(message).await.inspect_err(|_| {
            self.requests.0.lock().forget(id);
        })
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Self::Data> + Send) -> Result<(), Error> {
        for message in messages {
            self.send(message).await?;
        }
        Ok(())
    }

    async fn recv(&self) -> Result<Self::Data, Error> {
        let mut one = None;
        self.recv_batch(&mut One(&mut one), 1).await?;
        one.ok_or_else(|| Error::new(ErrorKind::Closed, "the connection below returned no message"))
    }

    async fn recv_batch(
        &self,
        into: &mut (impl Extend<Self::Data> + Send),
        limit: usize,
    ) -> Result<usize, Error> {
        let mut replies = FirstReplies { connection: self, into, count: 0 };
        while replies.count == 0 && limit > 0 {
            let mut armed = pin!(self.armed.notified());
            armed.as_mut().enable();
            let next = self.resend().await?;
            let received = pin!(self.inner.recv_batch(&mut replies, limit));
            let due = async {
                match next {
                    Some(deadline) => {
                        self.inner.base().runtime().sleep_until(self.start + deadline).await;
                    }
                    None => armed.await,
                }
            };
            if let futures_util::future::Either::Left((received, _)) = select(received, pin!(due)).await {
                received?;
            }
        }
        Ok(replies.count)
    }
}

/// Collects a burst of one message.
struct One<'a, T>(&'a mut Option<T>);

impl<T> Extend<T> for One<'_, T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, messages: I) {
        for message in messages {
            *self.0 = Some(message);
        }
    }
}

/// Passes on the first reply to each request.
struct FirstReplies<'a, Inner: Connection, Into> {
    connection: &'a RetryConnection<Inner>,
    into: &'a mut Into,
    count: usize,
}

impl<Inner, Into> Extend<Inner::Data> for FirstReplies<'_, Inner, Into>
where
    Inner: Connection<Data: Correlated + Clone>,
    Into: Extend<Inner::Data>,
{
    fn extend<I: IntoIterator<Item = Inner::Data>>(&mut self, replies: I) {
        let Self { connection, into, count } = self;
        let now = connection.now();
        let before = *count;
        into.extend(replies.into_iter().filter(|reply| {
            let is_first = connection.requests.0.lock().on_reply(reply.id(), now).is_some();
            match is_first {
                true => *count += 1,
                false => connection.vain.add(1),
            }
            is_first
        }));
        if *count > before {
            connection.room.notify_waiters();
        }
    }
}

debug_fields!(RetryConnection<Inner: Connection + Debug> { inner });
