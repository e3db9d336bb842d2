//! A call that has arrived, for the program that answers it.

use bertha::rpc::{Context, Failure, Request, Requests};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use tokio::sync::{mpsc, oneshot};

/// Number of responses of a stream that wait for the client before the next one waits.
const WAITING: usize = 16;

/// A step of a call before its outcome.
pub(super) enum Step {
    Requests(oneshot::Sender<Requests<Vec<u8>>>),
    Response(Vec<u8>),
}

/// The outcome of a call.
pub(super) enum Outcome {
    Response(Vec<u8>),
    /// The end of a stream of responses.
    End,
    Failure(Failure),
}

/// A call that has arrived. It is answered in any task, now or later, once; a call that is dropped before
/// fails.
pub struct ArrivedCall {
    method: u32,
    request: Vec<u8>,
    context: Context,
    steps: mpsc::Sender<Step>,
    /// Present until there is an outcome.
    outcome: Mutex<Option<oneshot::Sender<Outcome>>>,
}

impl ArrivedCall {
    pub(super) fn new(request: &Request<'_>) -> (Self, mpsc::Receiver<Step>, oneshot::Receiver<Outcome>) {
        let (steps, taken_steps) = mpsc::channel(WAITING);
        let (outcome, taken_outcome) = oneshot::channel();
        let (method, context, request) = (request.method(), request.context(), request.body().to_vec());
        let outcome = Mutex::new(Some(outcome));
        (Self { method, request, context, steps, outcome }, taken_steps, taken_outcome)
    }

    /// Returns the number of the method: [`Method::id_of`](bertha::rpc::Method::id_of) its name.
    pub fn method(&self) -> u32 {
        self.method
    }

    /// Returns the encoded request.
    pub fn request(&self) -> &[u8] {
        &self.request
    }

    /// Takes the encoded request, of which nothing is left.
    pub fn take_request(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.request)
    }

    /// Returns who calls, with which metadata, and until when; and takes metadata for the way back.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Returns true once nobody waits for the answer: the client has cancelled the call or is gone, or the deadline has passed.
    pub fn is_cancelled(&self) -> bool {
        self.steps.is_closed()
    }

    /// Waits until nobody waits for the answer.
    pub async fn cancelled(&self) {
        self.steps.closed().await;
    }

    /// Lets the client send its further requests, and returns them. `None` if the call was cancelled, or a response of a stream was
    /// given already. A second call returns a stream that fails.
    pub async fn requests(&self) -> Option<Requests<Vec<u8>>> {
        let (give, taken) = oneshot::channel();
        self.steps.send(Step::Requests(give)).await.ok()?;
        taken.await.ok()
    }

    /// Gives a response of a stream once there is room, and returns false if nobody waits for it. A future that is dropped has
    /// given nothing.
    pub async fn respond(&self, response: Vec<u8>) -> bool {
        self.steps.send(Step::Response(response)).await.is_ok()
    }

    /// Waits until there is room for a response of a stream, which it does not take, or nobody waits for one.
    pub async fn room(&self) {
        drop(self.steps.reserve().await);
    }

    /// Ends a stream of responses. Returns false if the call is over already, as the following do.
    pub fn end(&self) -> bool {
        self.finish(Outcome::End)
    }

    /// Answers the call; or ends a stream of responses with its last.
    pub fn answer(&self, response: Vec<u8>) -> bool {
        self.finish(Outcome::Response(response))
    }

    /// Fails the call, or its stream of responses.
    pub fn fail(&self, failure: Failure) -> bool {
        self.finish(Outcome::Failure(failure))
    }

    fn finish(&self, outcome: Outcome) -> bool {
        let sender = self.outcome.lock().unwrap_or_else(PoisonError::into_inner).take();
        sender.is_some_and(|sender| sender.send(outcome).is_ok())
    }
}

impl fmt::Debug for ArrivedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArrivedCall")
            .field("method", &self.method)
            .field("context", &self.context)
            .finish_non_exhaustive()
    }
}
