//! A connection whose peer has sent certain messages and then closed, as the bottom of a Chunnel.

use bertha_core::{Addr, Base, Buf, Connection, Error, ErrorKind, Headroom, Properties, Runtime};
use std::collections::VecDeque;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// A connection that returns its messages one after another, and accepts everything.
pub(super) struct Feed<R = Still> {
    base: Ground<R>,
    messages: Mutex<VecDeque<Buf>>,
    sent: Arc<Mutex<Vec<Buf>>>,
}

impl Feed {
    pub(super) fn new(messages: impl IntoIterator<Item = Buf>) -> Self {
        Self::on(Still, messages)
    }
}

impl<R> Feed<R> {
    /// Creates the feed on another runtime.
    pub(super) fn on(runtime: R, messages: impl IntoIterator<Item = Buf>) -> Self {
        let messages = Mutex::new(messages.into_iter().collect());
        Self { base: Ground::new(runtime), messages, sent: Arc::default() }
    }

    /// Returns the list of messages that the feed has accepted.
    pub(super) fn sent(&self) -> Arc<Mutex<Vec<Buf>>> {
        self.sent.clone()
    }
}

impl<R: Runtime> Connection for Feed<R> {
    type Data = Buf;
    type Base = Ground<R>;

    fn base(&self) -> &Ground<R> {
        &self.base
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.sent.lock().unwrap().push(message);
        Ok(())
    }

    async fn recv(&self) -> Result<Buf, Error> {
        let next = self.messages.lock().unwrap().pop_front();
        next.ok_or_else(|| Error::new(ErrorKind::Closed, "there is no more"))
    }

    async fn drain(&self) -> Result<(), Error> {
        Ok(())
    }

    async fn close(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// The bottom of a feed. It promises what streams do, so that every Chunnel may stand on it.
pub(super) struct Ground<R> {
    runtime: R,
    headroom: Headroom,
}

impl<R> Ground<R> {
    pub(super) fn new(runtime: R) -> Self {
        let headroom = Headroom::new();
        // Some targets encode a message without a layer that would reserve room for it.
        headroom.reserve(64);
        Self { runtime, headroom }
    }
}

impl<R: Runtime> Base for Ground<R> {
    type Runtime = R;

    fn runtime(&self) -> &R {
        &self.runtime
    }

    fn headroom(&self) -> &Headroom {
        &self.headroom
    }

    fn mtu(&self) -> usize {
        65_507
    }

    fn local_addr(&self) -> Addr {
        Addr::Unnamed
    }

    fn peer_addr(&self) -> Addr {
        Addr::Unnamed
    }

    fn properties(&self) -> Properties {
        Properties::STREAM
    }
}

/// A runtime whose tasks don't run, and which never wakes a task.
#[derive(Clone)]
pub(super) struct Still;

impl Runtime for Still {
    type Task = ();

    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep_until(&self, _: Instant) -> impl Future<Output = ()> + Send + 'static {
        pending()
    }

    fn spawn(&self, _: impl Future<Output = ()> + Send + 'static) {}

    fn random(&self) -> u64 {
        0
    }
}
