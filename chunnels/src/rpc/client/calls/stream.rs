//! The streams of a call under way.

use super::waiting::WaitingResponses;
use crate::rpc::parts::{Allowance, Parts, Violation, WINDOW};
use crate::rpc::{Failure, Metadata};
use bertha_core::Buf;
use std::task::Waker;

/// A call with streams.
#[derive(Debug)]
pub(super) struct Stream {
    /// The responses. A single response is a stream with one part.
    pub(super) parts: Parts,
    pub(super) waiting: WaitingResponses,
    pub(super) has_one_response: bool,
    pub(super) failure: Option<Failure>,
    /// The metadata of the end, once that has arrived.
    pub(super) trailers: Metadata,
    pub(super) waker: Option<Waker>,
    pub(super) requests: Option<Requests>,
}

/// The requests of a call that has a stream of them.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// Nothing before the server's first grant: a request that overtakes its call would be of no call.
    pub(super) allowance: Allowance,
    /// True once their end was sent, or the server takes no more.
    pub(super) are_over: bool,
    /// The task that sends them.
    pub(super) waker: Option<Waker>,
}

impl Stream {
    pub(super) fn new(
        has_one_response: bool,
        requests: Option<Requests>,
        waiting: WaitingResponses,
    ) -> Box<Self> {
        let (parts, (failure, trailers, waker)) = (Parts::granting(WINDOW), Default::default());
        Box::new(Self { parts, waiting, has_one_response, failure, trailers, waker, requests })
    }

    /// Ends the requests. Returns the task that sends them.
    pub(super) fn end_requests(&mut self) -> Option<Waker> {
        let requests = self.requests.as_mut()?;
        requests.are_over = true;
        requests.waker.take()
    }

    /// Takes in one of several responses.
    pub(super) fn on_part(&mut self, index: u32, part: Buf) -> Taken {
        let bytes = part.len();
        match self.parts.on_part(index, part) {
            Ok(()) => self.waiting.add(bytes).map_or_else(Taken::WithoutRoom, |()| Taken::Expected),
            Err(Violation) => Taken::Wrong,
        }
    }

    /// Takes in a single response.
    pub(super) fn on_response(&mut self, response: Buf) -> Taken {
        match self.on_part(0, response) {
            Taken::Expected => Taken::of(self.parts.on_end(1)),
            taken => taken,
        }
    }
}

/// A message of the server, as far as its call is concerned.
pub(super) enum Taken {
    Expected,
    /// The call has failed before, by its deadline.
    Late,
    /// No server of this protocol sends it.
    Wrong,
    /// It may not wait for its caller.
    WithoutRoom(Failure),
}

impl Taken {
    pub(super) fn of(part: Result<(), Violation>) -> Self {
        part.map_or(Self::Wrong, |()| Self::Expected)
    }
}
