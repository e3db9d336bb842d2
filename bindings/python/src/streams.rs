//! Streams of requests: those that a client sends, and those that have arrived at a service.

use crate::failure::Failure;
use crate::operation::{Operation, Outcome, Shape, Work};
use crate::runtime;
use bertha::ErrorKind;
use bertha::core::BoxFuture;
use bertha::rpc;
use bertha_named::{AnyCall, ArrivedCall, RequestSender, RequestsToSend, requests};
use parking_lot::Mutex;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;
use tokio::sync::Notify;

/// The further requests of a call that is made. They end with `end`, or with the last reference.
#[pyclass(frozen, weakref, module = "bertha._bertha")]
pub(crate) struct Requests {
    sender: Mutex<Option<RequestSender>>,
    /// Present until there is a call.
    stream: Mutex<Option<RequestsToSend>>,
    failed: Arc<Notify>,
}

impl Requests {
    /// Gives the requests to their call, and returns what ends the call if they fail.
    ///
    /// # Errors
    /// `Invalid` for a second call.
    pub(crate) fn give_to(&self, call: &mut AnyCall) -> Result<Arc<Notify>, Failure> {
        let stream = self.stream.lock().take();
        let used = || Failure::new(ErrorKind::Invalid, "the requests are those of another call");
        call.requests = Some(stream.ok_or_else(used)?);
        Ok(self.failed.clone())
    }
}

#[pymethods]
impl Requests {
    #[new]
    fn new() -> Self {
        let (sender, stream) = requests();
        Self { sender: Mutex::new(Some(sender)), stream: Mutex::new(Some(stream)), failed: Arc::default() }
    }

    /// Sends a request. The operation is False if none is wanted any more.
    fn send(&self, request: Vec<u8>) -> PyResult<Operation> {
        runtime::handle()?;
        let sender = self.sender.lock().clone();
        let sent = async move {
            let is_taken = match sender {
                Some(sender) => sender.send(request).await,
                None => false,
            };
            Ok(Outcome::Made(Box::new(move |py| is_taken.into_py_any(py))))
        };
        Ok(Operation::new(Work::Future(Box::pin(sent)), Shape::Plain))
    }

    /// Ends the requests.
    fn end(&self) {
        self.sender.lock().take();
    }

    /// Cancels the call, since what makes the requests has failed.
    fn fail(&self) {
        self.failed.notify_one();
    }
}

/// Does work of a call, unless its requests fail.
///
/// # Errors
/// Failures of the call; `Invalid` if its requests have failed.
pub(crate) async fn unless_failed<T>(
    failed: Option<Arc<Notify>>,
    work: impl Future<Output = Result<T, rpc::Failure>>,
) -> Result<T, Failure> {
    let Some(failed) = failed else { return work.await.map_err(Failure::from) };
    tokio::select! {
        biased;
        outcome = work => outcome.map_err(Failure::from),
        () = failed.notified() => Err(Failure::new(ErrorKind::Invalid, "the requests of the call have failed")),
    }
}

/// The further requests of a call that has arrived.
#[pyclass(frozen, weakref, module = "bertha._bertha")]
pub(crate) struct ArrivedRequests(Arc<tokio::sync::Mutex<State>>);

enum State {
    /// The client is being told to send them. An operation that is cancelled meanwhile leaves this to the next.
    Asked(BoxFuture<'static, Option<rpc::Requests<Vec<u8>>>>),
    There(rpc::Requests<Vec<u8>>),
    Over,
}

impl ArrivedRequests {
    pub(crate) fn of(call: Arc<ArrivedCall>) -> Self {
        let asked = Box::pin(async move { call.requests().await });
        Self(Arc::new(tokio::sync::Mutex::new(State::Asked(asked))))
    }
}

impl State {
    async fn next(&mut self) -> Option<Result<Vec<u8>, rpc::Failure>> {
        if let Self::Asked(asked) = self {
            *self = asked.await.map_or(Self::Over, Self::There);
        }
        let Self::There(requests) = self else { return None };
        let next = requests.next().await;
        if !matches!(next, Some(Ok(_))) {
            *self = Self::Over;
        }
        next
    }
}

#[pymethods]
impl ArrivedRequests {
    fn next(&self) -> Operation {
        let state = self.0.clone();
        let next = async move {
            Ok(match state.lock().await.next().await.transpose()? {
                Some(request) => {
                    Outcome::Made(Box::new(move |py| PyBytes::new(py, &request).into_py_any(py)))
                }
                None => Outcome::End,
            })
        };
        Operation::new(Work::Future(Box::pin(next)), Shape::Plain)
    }
}
