//! A connection whose peer has sent certain messages and then closed, on which a Chunnel can stand.

use bertha_core::{Addr, Base, Buf, Connection, Error, ErrorKind, Properties, Runtime};
use std::collections::VecDeque;
use std::future::pending;
use std::sync::Mutex;
use std::time::Instant;

/// Gives what it was made with, one message after the other, and takes everything.
pub(super) struct Feed {
    messages: Mutex<VecDeque<Buf>>,
}

impl Feed {
    pub(super) fn new(messages: impl IntoIterator<Item = Buf>) -> Self {
        Self { messages: Mutex::new(messages.into_iter().collect()) }
    }
}

impl Connection for Feed {
    type Data = Buf;
    type Base = Ground;

    fn base(&self) -> &Ground {
        &Ground
    }

    async fn send(&self, _: Buf) -> Result<(), Error> {
        Ok(())
    }

    async fn recv(&self) -> Result<Buf, Error> {
        let next = self.messages.lock().ok().and_then(|mut messages| messages.pop_front());
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
#[derive(Clone)]
pub(super) struct Ground;

impl Base for Ground {
    type Runtime = Self;

    fn runtime(&self) -> &Self {
        self
    }

    fn buffer(&self, len: usize) -> Result<Buf, Error> {
        Buf::new(len, 64)
    }

    fn reserve(&self, _: usize) {}

    fn reserved(&self) -> usize {
        64
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

/// Tasks don't run, and time stands still.
impl Runtime for Ground {
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
