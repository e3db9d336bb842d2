//! The time between agreement and a stack that is ready.

use super::Shared;
use crate::wire::DROPPED;
use bertha_core::{Buf, Connection, Error};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Waker};

/// Watches over a link while Chunnels are built on it. They own the link meanwhile, and drop it if they fail; the peer
/// shall hear why.
pub(crate) struct Setup<C: Connection<Data = Buf>>(pub(super) Arc<Shared<C>>);

impl<C: Connection<Data = Buf>> Setup<C> {
    /// The stack is ready; from now on dropping it is the end of the connection.
    pub(crate) fn done(self) {
        self.0.in_setup.store(false, Ordering::Relaxed);
    }

    /// The stack can't be built: tells the peer, once there is one that has agreed to it.
    pub(crate) async fn failed(self, failure: &Error) {
        if !self.0.close_unopened() {
            self.0.close_at_once(failure.to_string()).await;
        }
    }
}

impl<C: Connection<Data = Buf>> Drop for Setup<C> {
    /// If the building of the stack was cancelled, the peer hears that.
    fn drop(&mut self) {
        if self.0.in_setup.load(Ordering::Relaxed) {
            self.0.leave("it gave up");
        }
    }
}

impl<C: Connection<Data = Buf>> Shared<C> {
    /// The stack, or a part of it, was dropped without `close`, so messages of this end may be missing at the peer. While it is being built that is not the end: [`Setup`] says why it was.
    pub(crate) fn dropped_stack(&self) {
        if !self.in_setup.load(Ordering::Relaxed) {
            self.leave(DROPPED);
        }
    }

    /// Ends the link from a destructor: tells the peer once, if the datapath takes the message at once.
    fn leave(&self, failure: &str) {
        let close_message = pin!(self.close_at_once(failure.into()));
        let _ = close_message.poll(&mut Context::from_waker(Waker::noop()));
    }
}
