//! The stream of responses to a call, for its caller.

use super::{MultiplexerShared, Pending, TaskOf};
use crate::rpc::{Failure, Message, Metadata, ResponseParts};
use bertha_core::{Buf, Connection};
use std::fmt;
use std::task::{Context, Poll};

/// The stream of responses to a call. Dropping it cancels the call.
pub struct MultiplexedParts<C: Connection> {
    pub(super) pending: Pending<C>,
    pub(super) trailers: Metadata,
    /// The task that sends the requests, which are dropped with it.
    pub(super) _requests: Option<TaskOf<C>>,
}

/// No reference into it is pinned.
impl<C: Connection> Unpin for MultiplexedParts<C> {}

impl<C: Connection<Data = Message>> ResponseParts for MultiplexedParts<C> {
    fn poll_part(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Buf, Failure>>> {
        let Pending { place, id, is_done } = &mut self.pending;
        if *is_done {
            return Poll::Ready(None);
        }
        let mut state = place.held.shared.state.lock();
        let part = state.calls.poll_part(*id, cx.waker(), &mut self.trailers);
        *is_done = matches!(part, Poll::Ready(None | Some(Err(_))));
        MultiplexerShared::<C>::wake_sender(state);
        part
    }

    fn trailers(&self) -> &Metadata {
        &self.trailers
    }
}

impl<C: Connection> fmt::Debug for MultiplexedParts<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultiplexedParts").field("call", &self.pending.id).finish_non_exhaustive()
    }
}
