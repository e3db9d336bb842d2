//! The work of an operation, without the interpreter: both flavours poll it.

use super::shared::Shared;
use crate::failure::Failure;
use crate::sending::Sent;
use crate::server::Server;
use crate::task::{End, Task};
use bertha::Buf;
use bertha::core::BoxFuture;
use bertha_named::AnyConnection;
use pyo3::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// The work of an operation.
pub(crate) enum Work {
    Receive {
        from: Arc<Shared>,
        number: u64,
        /// Most messages of a burst; `None` for a single message.
        most: Option<usize>,
    },
    Send(Sent),
    Connect(Task<Arc<dyn AnyConnection>>),
    Accept {
        from: Arc<Server>,
        number: u64,
    },
    /// To drain, to close, to change the stack.
    Last(End),
    /// To call and to serve. It ends with its operation.
    Future(BoxFuture<'static, Result<Outcome, Failure>>),
    /// Done already. One such operation is for all.
    Done,
    Over,
}

/// Makes an object of Python.
type Make = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// The outcome of the work.
pub(crate) enum Outcome {
    Nothing,
    Message(Buf),
    Burst(Vec<Buf>),
    Connection(Arc<dyn AnyConnection>),
    /// The value that this work makes.
    Made(Make),
    /// The end of a stream.
    End,
}

impl Work {
    /// Goes on with the work. Without a waker, this is an attempt, which wakes nothing later.
    ///
    /// # Errors
    /// Errors of the work.
    pub(crate) fn poll(&mut self, waker: Option<&Waker>) -> Poll<Result<Outcome, Failure>> {
        match self {
            Self::Receive { from, number, most: None } => {
                let take = |arrived: &mut VecDeque<Buf>| arrived.pop_front();
                from.receiving.poll(*number, waker, take).map_ok(|message| {
                    from.count(2, 1, message.as_ref().map_or(0, |message| message.len()));
                    message.map_or(Outcome::Nothing, Outcome::Message)
                })
            }
            Self::Receive { from, number, most: Some(most) } => {
                let take =
                    |arrived: &mut VecDeque<Buf>| arrived.drain(..(*most).min(arrived.len())).collect();
                from.receiving.poll(*number, waker, take).map_ok(|burst: Vec<Buf>| {
                    from.count(2, burst.len(), burst.iter().map(|message| message.len()).sum());
                    Outcome::Burst(burst)
                })
            }
            Self::Send(sent) => {
                let mut context = Context::from_waker(waker.unwrap_or(Waker::noop()));
                sent.poll(&mut context).map_ok(|()| Outcome::Nothing)
            }
            Self::Connect(task) => task.poll(waker).map_ok(Outcome::Connection),
            Self::Accept { from, number } => from.poll(*number, waker).map_ok(Outcome::Connection),
            Self::Last(end) => end.poll(waker).map_ok(|()| Outcome::Nothing),
            Self::Future(future) => {
                future.as_mut().poll(&mut Context::from_waker(waker.unwrap_or(Waker::noop())))
            }
            Self::Done | Self::Over => Poll::Ready(Ok(Outcome::Nothing)),
        }
    }

    /// Ends the work, of which nothing is lost. Returns true if it is done all the same.
    pub(crate) fn give_up(&mut self) -> bool {
        match std::mem::replace(self, Self::Over) {
            Self::Done => *self = Self::Done,
            Self::Receive { from, number, .. } => from.receiving.give_up(number),
            Self::Send(mut sent) => return sent.give_up(),
            Self::Accept { from, number } => from.give_up(number),
            Self::Connect(_) | Self::Last(_) | Self::Future(_) | Self::Over => {}
        }
        false
    }
}
