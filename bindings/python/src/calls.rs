//! Calls, whose requests and responses are bytes here: the part of the package in Python encodes them.

use crate::failure::Failure;
use crate::listener::read;
use crate::operation::{Operation, Outcome, Shape, Work};
use crate::runtime;
use crate::streams::{ArrivedRequests, Requests, unless_failed};
use bertha::ErrorKind;
use bertha::rpc::{self, FailureKind, Metadata, Method};
use bertha_named::{
    AnyCall, AnyCaller, AnyResponses, AnyServer, ArrivedCall, CallFormat, Calling, ServerEnd, Serving, method,
};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, Notify};

/// Returns an operation that makes an object of what the future gives.
fn operation<T: Send + 'static>(
    future: impl Future<Output = Result<T, Failure>> + Send + 'static,
    make: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
) -> PyResult<Operation> {
    runtime::handle()?;
    let future = async move {
        let made = future.await?;
        Ok(Outcome::Made(Box::new(move |py| make(py, made))))
    };
    Ok(Operation::new(Work::Future(Box::pin(future)), Shape::Plain))
}

/// Names and values beside a request or a response.
type Pairs = Vec<(String, Vec<u8>)>;

fn pairs(metadata: &Metadata) -> Pairs {
    metadata.iter().map(|(name, value)| (name.to_owned(), value.to_vec())).collect()
}

/// The grace of a service that waits for its calls without limit: a century.
const FOREVER: Duration = Duration::from_hours(24 * 365 * 100);

/// Returns a number of seconds; None if no clock reaches it.
fn time(seconds: f64) -> PyResult<Option<Duration>> {
    if seconds.is_nan() || seconds < 0.0 {
        let what = format!("{seconds} is no time: a number of seconds from 0 is one");
        return Err(pyo3::exceptions::PyValueError::new_err(what));
    }
    let time = Duration::try_from_secs_f64(seconds).ok();
    Ok(time.filter(|time| Instant::now().checked_add(*time).is_some()))
}

/// Names of the codecs of this build.
#[pyfunction]
pub(crate) fn codecs() -> Vec<&'static str> {
    CallFormat::ALL.iter().map(|format| format.name()).collect()
}

/// The number of the method of this name.
#[pyfunction]
pub(crate) fn number_of(name: &str) -> u32 {
    Method::id_of(name)
}

/// Begins to connect to a service.
#[pyfunction]
pub(crate) fn call(
    datapath: &str,
    address: &str,
    stack: &str,
    settings: Vec<(String, String)>,
) -> PyResult<Operation> {
    let runtime = runtime::handle()?;
    let (datapath, stack, options) = read(datapath, stack, &settings)?;
    let calling = Calling::new(stack, address, options);
    // Connected within the runtime, whose tasks then read the answers.
    let connecting = runtime.spawn(datapath.run(calling));
    let caller = async move {
        match connecting.await {
            Ok(caller) => caller.map_err(Failure::from),
            Err(ended) => Err(Failure::new(ErrorKind::Io, ended.to_string())),
        }
    };
    operation(caller, |py, caller| Caller { caller }.into_py_any(py))
}

/// Serves at an address.
#[pyfunction]
pub(crate) fn serve(
    py: Python<'_>,
    datapath: &str,
    address: &str,
    stack: &str,
    settings: Vec<(String, String)>,
) -> PyResult<Server> {
    let runtime = runtime::handle()?;
    let (datapath, stack, options) = read(datapath, stack, &settings)?;
    let serving = Serving::new(stack, address, options);
    let server = py.detach(|| runtime.block_on(datapath.run(serving))).map_err(Failure::from)?;
    let (address, end) = (server.local_address().to_string(), server.server_end());
    Ok(Server { address, end, server: Arc::new(Mutex::new(server)) })
}

/// Makes calls to a service.
#[pyclass(frozen, weakref, module = "bertha._bertha")]
pub(crate) struct Caller {
    caller: Arc<dyn AnyCaller>,
}

impl Drop for Caller {
    fn drop(&mut self) {
        runtime::keep_if_forked(&self.caller);
    }
}

#[pymethods]
impl Caller {
    /// Makes a call with one response, and returns it with the metadata of the server.
    #[pyo3(signature = (name, request, deadline, metadata, requests = None))]
    fn ask(
        &self,
        name: &str,
        request: Vec<u8>,
        deadline: Option<f64>,
        metadata: Pairs,
        requests: Option<PyRef<'_, Requests>>,
    ) -> PyResult<Operation> {
        let mut call = any_call(name, request, deadline, metadata)?;
        let failed = requests.map(|requests| requests.give_to(&mut call)).transpose()?;
        operation(unless_failed(failed, self.caller.ask(call)), |py, answer| {
            (PyBytes::new(py, &answer.response), pairs(&answer.trailers)).into_py_any(py)
        })
    }

    /// Makes a call with a stream of responses.
    #[pyo3(signature = (name, request, deadline, metadata, requests = None))]
    fn open(
        &self,
        name: &str,
        request: Vec<u8>,
        deadline: Option<f64>,
        metadata: Pairs,
        requests: Option<PyRef<'_, Requests>>,
    ) -> PyResult<Operation> {
        let mut call = any_call(name, request, deadline, metadata)?;
        let failed = requests.map(|requests| requests.give_to(&mut call)).transpose()?;
        operation(unless_failed(failed.clone(), self.caller.open(call)), |py, responses| {
            Responses { responses: Arc::new(Mutex::new(responses)), failed }.into_py_any(py)
        })
    }

    fn close(&self) -> PyResult<Operation> {
        let closing = self.caller.clone().close();
        operation(async { closing.await.map_err(Failure::from) }, |py, ()| Ok(py.None()))
    }

    /// The view of the caller itself: its stack, its statistics, and the identity of the server.
    fn told(&self) -> PyResult<(String, String, Option<String>)> {
        runtime::handle()?;
        Ok((self.caller.explain(), self.caller.statistics(), self.caller.peer_identity()))
    }
}

fn any_call(name: &str, request: Vec<u8>, deadline: Option<f64>, metadata: Pairs) -> PyResult<AnyCall> {
    let mut call = AnyCall::new(method(name).map_err(Failure::from)?, request);
    call.deadline = deadline.map(time).transpose()?.flatten();
    for (name, value) in metadata {
        call.metadata.add(&name, value).map_err(Failure::from)?;
    }
    Ok(call)
}

/// The responses to a call. The call is cancelled with the last reference.
#[pyclass(frozen, weakref, module = "bertha._bertha")]
pub(crate) struct Responses {
    responses: Arc<Mutex<AnyResponses>>,
    failed: Option<Arc<Notify>>,
}

#[pymethods]
impl Responses {
    fn next(&self) -> Operation {
        let (responses, failed) = (self.responses.clone(), self.failed.clone());
        let next = async move {
            let next = async { responses.lock().await.next().await.transpose() };
            Ok(unless_failed(failed, next).await?.map_or(Outcome::End, Outcome::Message))
        };
        Operation::new(Work::Future(Box::pin(next)), Shape::Plain)
    }

    /// Returns the metadata that has come with the end of the stream.
    fn trailers(&self) -> Pairs {
        self.responses.try_lock().map_or_else(|_| Pairs::new(), |responses| pairs(responses.trailers()))
    }
}

/// A service.
#[pyclass(frozen, weakref, module = "bertha._bertha")]
pub(crate) struct Server {
    #[pyo3(get)]
    address: String,
    end: ServerEnd,
    server: Arc<Mutex<AnyServer>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        runtime::keep_if_forked(&self.server);
    }
}

#[pymethods]
impl Server {
    /// Waits for the next call.
    fn next(&self) -> Operation {
        let server = self.server.clone();
        let next = async move {
            let call = server.lock().await.next().await;
            let make = |call: ArrivedCall| -> Outcome {
                Outcome::Made(Box::new(|py| Arrived { call: Arc::new(call) }.into_py_any(py)))
            };
            Ok(call.map_or(Outcome::End, make))
        };
        Operation::new(Work::Future(Box::pin(next)), Shape::Plain)
    }

    /// Ends the service: calls under way have this many seconds.
    fn end(&self, grace: f64) -> PyResult<()> {
        self.end.begin(time(grace)?.unwrap_or(FOREVER));
        Ok(())
    }
}

/// A call that has arrived.
#[pyclass(frozen, weakref, module = "bertha._bertha")]
pub(crate) struct Arrived {
    call: Arc<ArrivedCall>,
}

#[pymethods]
impl Arrived {
    /// Returns the number of the method, and the request.
    fn asked<'py>(&self, py: Python<'py>) -> (u32, Bound<'py, PyBytes>) {
        (self.call.method(), PyBytes::new(py, self.call.request()))
    }

    /// Returns the metadata, the number of seconds until the deadline, and the address and the identity of the client.
    fn about(&self) -> (Pairs, Option<f64>, String, Option<String>) {
        let context = self.call.context();
        let left = context.deadline().map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let (address, identity) = (context.peer_addr().to_string(), context.peer().map(ToString::to_string));
        (pairs(context.metadata()), left.map(|left| left.as_secs_f64()), address, identity)
    }

    /// True once nobody waits for the answer.
    #[getter]
    fn is_cancelled(&self) -> bool {
        self.call.is_cancelled()
    }

    /// Returns the further requests. The first use lets the client send them; it comes before the first response.
    fn requests(&self) -> ArrivedRequests {
        ArrivedRequests::of(self.call.clone())
    }

    fn add_trailer(&self, name: &str, value: Vec<u8>) -> PyResult<()> {
        Ok(self.call.context().add_trailer(name, value).map_err(Failure::from)?)
    }

    fn answer(&self, response: Vec<u8>) -> bool {
        self.call.answer(response)
    }

    /// Gives a response of a stream. The operation is False if nobody waits for it.
    fn respond(&self, response: Vec<u8>) -> PyResult<Operation> {
        let call = self.call.clone();
        operation(async move { Ok(call.respond(response).await) }, |py, taken| taken.into_py_any(py))
    }

    /// Ends a stream of responses.
    fn end(&self) -> bool {
        self.call.end()
    }

    /// Fails the call, with the name of a kind.
    fn fail(&self, kind: &str, text: String) -> bool {
        let kind = (0..=u8::MAX).map(FailureKind::of_code).find(|known| format!("{known:?}") == kind);
        self.call.fail(rpc::Failure::of(kind.unwrap_or(FailureKind::Failed), text))
    }

    /// Waits until nobody waits for the answer.
    fn cancelled(&self) -> PyResult<Operation> {
        let call = self.call.clone();
        let cancelled = async move {
            call.cancelled().await;
            Ok(())
        };
        operation(cancelled, |py, ()| Ok(py.None()))
    }
}
