//! The time between the agreement and a stack that is ready.

use crate::link::{End, LinkShared};
use crate::wire::DROPPED;
use bertha_core::{Buf, Connection, Error};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Waker};

/// Watches over a link while Chunnels are built on it. The Chunnels own the link meanwhile, and drop it if
/// they fail. `Setup` then tells the peer the reason.
pub(crate) struct Setup<C: Connection<Data = Buf>>(pub(in crate::link) Arc<LinkShared<C>>);

impl<C: Connection<Data = Buf>> Setup<C> {
    /// Records that the stack is ready. From now on dropping the stack ends the connection.
    pub(crate) fn done(self) {
        self.0.in_setup.store(false, Ordering::Relaxed);
    }

    /// Records that no stack is built on the link. The peer hears nothing, since it has another link.
    pub(crate) fn withdrawn(self) {
        self.0.lifecycle.end(End::Replaced);
    }

    /// Tells the peer that the stack can't be built, if the peer has agreed to the stack.
    pub(crate) async fn failed(self, failure: &Error) {
        if !self.0.close_before_answer() {
            self.0.close_at_once(failure.to_string()).await;
        }
    }
}

impl<C: Connection<Data = Buf>> Drop for Setup<C> {
    /// Tells the peer if the building of the stack was cancelled.
    fn drop(&mut self) {
        if self.0.in_setup.load(Ordering::Relaxed) {
            self.0.leave("it gave up");
        }
    }
}

impl<C: Connection<Data = Buf>> LinkShared<C> {
    /// Handles that the stack, or a part of it, was dropped without `close`, so messages of this end may be
    /// missing at the peer. While the stack is being built, [`Setup`] tells the peer the reason.
    pub(crate) fn dropped_stack(&self) {
        if !self.in_setup.load(Ordering::Relaxed) {
            self.leave(DROPPED);
        }
    }

    /// Ends the link, since a stack that was changed could not deliver its messages, and tells the peer once, if
    /// the datapath takes the message at once. Both ends get [`Reset`](bertha_core::ErrorKind::Reset).
    pub(crate) fn messages_lost(&self, error: &Error) {
        if self.lifecycle.messages_lost(error) {
            let close_message = pin!(self.send_close(DROPPED.into()));
            let _ = close_message.poll(&mut Context::from_waker(Waker::noop()));
        }
    }

    /// Ends the link from a destructor: tells the peer once, if the datapath takes the message at once.
    fn leave(&self, failure: &str) {
        let close_message = pin!(self.close_at_once(failure.into()));
        let _ = close_message.poll(&mut Context::from_waker(Waker::noop()));
    }
}
