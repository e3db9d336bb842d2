//! A connection, as Python has it.

use super::shared::Shared;
use super::{Operation, Shape, Work};
use crate::failure::Failure;
use crate::memory;
use crate::runtime;
use crate::task::Task;
use crate::told;
use bertha::{ErrorKind, Pick};
use bertha_named::AnyConnection;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Waker};

/// Most messages of a burst.
const MOST: usize = 4096;

impl Drop for Connection {
    fn drop(&mut self) {
        runtime::keep_if_forked(&self.shared);
    }
}

/// A connection with one peer. `async for` has its messages.
#[pyclass(frozen, weakref, module = "bertha")]
pub(crate) struct Connection {
    shared: Arc<Shared>,
}

impl Connection {
    pub(crate) fn new(any: Arc<dyn AnyConnection>) -> Self {
        Self { shared: Arc::new(Shared::new(any)) }
    }

    fn receiving(&self, most: Option<usize>, shape: Shape) -> Operation {
        let number = self.shared.receiving.number();
        Operation::new(Work::Receive { from: self.shared.clone(), number, most }, shape)
    }

    /// Begins work which takes long, behind the messages that were handed over.
    fn begin(
        &self,
        work: impl Future<Output = Result<(), bertha::Error>> + Send + 'static,
    ) -> PyResult<Task<()>> {
        let sent = self.shared.sending.all_are_sent();
        Ok(Task::begin(async move {
            sent.await;
            work.await.map_err(Failure::from)
        })?)
    }

    /// Returns an operation that waits for work which takes long.
    fn lasting(
        &self,
        work: impl Future<Output = Result<(), bertha::Error>> + Send + 'static,
    ) -> PyResult<Operation> {
        Ok(Operation::new(Work::Last(self.begin(work)?.end()), Shape::Plain))
    }

    /// Returns an operation that waits until the connection is closed, also by an earlier operation.
    fn closing(&self, shape: Shape) -> PyResult<Operation> {
        let mut closing = self.shared.closing.lock();
        let task = match closing.take() {
            Some(task) => task,
            None => self.begin(self.shared.any.clone().close())?,
        };
        let end = task.end();
        *closing = Some(task);
        Ok(Operation::new(Work::Last(end), shape))
    }
}

#[pymethods]
impl Connection {
    /// Sends a message, which is taken at once if there is room for it.
    fn send(&self, py: Python<'_>, message: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let runtime = runtime::handle()?;
        let shared = &self.shared;
        let message = memory::message(message, |length| shared.buffer(length))?;
        let length = message.len();
        let sent = {
            let _context = runtime.enter();
            shared.sending.send_one(message, &mut Context::from_waker(Waker::noop()))?
        };
        shared.count(0, 1, length);
        match sent {
            None => done(py),
            Some(sent) => Operation::new(Work::Send(sent), Shape::Plain).into_py_any(py),
        }
    }

    /// Sends messages with as few calls of the system as there can be.
    fn send_burst(&self, messages: &Bound<'_, PyAny>) -> PyResult<Operation> {
        let mut burst = Vec::new();
        for message in messages.try_iter()? {
            if burst.len() == MOST {
                let text = format!("a burst of more than {MOST} messages");
                return Err(Failure::new(ErrorKind::Invalid, text).into());
            }
            burst.push(memory::message(&message?, |length| self.shared.buffer(length))?);
        }
        runtime::handle()?;
        self.shared.count(0, burst.len(), burst.iter().map(|message| message.len()).sum());
        Ok(Operation::new(Work::Send(self.shared.sending.send(burst)), Shape::Plain))
    }

    /// Receives a message as bytes.
    fn receive(&self) -> Operation {
        self.receiving(None, Shape::Plain)
    }

    /// Receives a message as a view of the memory in which it has arrived.
    fn receive_buffer(&self) -> Operation {
        self.receiving(None, Shape::View)
    }

    /// Acknowledges the message of a topic, whose work is done, and releases its view. Other views are only released.
    #[allow(clippy::unused_self, reason = "programs look for it here")]
    fn acknowledge(&self, view: &Bound<'_, PyAny>) -> PyResult<()> {
        runtime::handle()?;
        memory::acknowledge(view)
    }

    /// Receives the messages that are there: at least one, at most `most`.
    #[pyo3(signature = (most = 64))]
    fn receive_burst(&self, most: usize) -> PyResult<Operation> {
        if most == 0 {
            return Err(Failure::new(ErrorKind::Invalid, "a burst of no message").into());
        }
        Ok(self.receiving(Some(most.min(MOST)), Shape::Plain))
    }

    /// Returns a writable view of the datapath's memory, which `send` takes without a copy.
    fn buffer<'py>(&self, py: Python<'py>, length: usize) -> PyResult<Bound<'py, PyAny>> {
        runtime::handle()?;
        let mut buffer = self.shared.buffer(length)?;
        // Bytes of earlier messages are not for everyone.
        buffer.fill(0);
        memory::view(py, buffer)
    }

    /// Sends what the stack holds back, and waits until none of it has to be sent again.
    fn drain(&self) -> PyResult<Operation> {
        runtime::handle()?;
        self.lasting(self.shared.any.clone().drain())
    }

    /// Sends what the stack holds back, tells the peer, and closes.
    fn close(&self) -> PyResult<Operation> {
        runtime::handle()?;
        self.closing(Shape::Plain)
    }

    /// Changes the stack to another alternative of its first choice, counted from 0.
    fn upgrade(&self, alternative: u32) -> PyResult<Operation> {
        runtime::handle()?;
        let change = self.shared.any.upgrade(Pick::alternative(alternative as usize));
        let Some(change) = change else {
            let text = "the connection was made without the option `upgradable`";
            return Err(Failure::new(ErrorKind::Invalid, text).into());
        };
        self.lasting(change)
    }

    /// Returns the stack in use, and the reasons for it.
    fn explain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        runtime::handle()?;
        told::explanation(py, &*self.shared.any)
    }

    /// Returns figures of the connection and of its layers.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        runtime::handle()?;
        let counts = self.shared.counts.each_ref().map(|count| count.load(Relaxed));
        told::statistics(py, &*self.shared.any, counts)
    }

    /// The length of the longest message, in bytes.
    #[getter]
    fn longest_message(&self) -> PyResult<usize> {
        runtime::handle()?;
        Ok(self.shared.any.longest())
    }

    #[getter]
    fn peer_address(&self) -> PyResult<String> {
        runtime::handle()?;
        Ok(self.shared.any.peer_address().to_string())
    }

    #[getter]
    fn local_address(&self) -> PyResult<String> {
        runtime::handle()?;
        Ok(self.shared.any.local_address().to_string())
    }

    /// The identity that the peer has proved, or None.
    #[getter]
    fn peer_identity(&self) -> PyResult<Option<String>> {
        runtime::handle()?;
        Ok(self.shared.any.peer_identity())
    }

    fn __aiter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __anext__(&self) -> Operation {
        self.receiving(None, Shape::Next)
    }

    fn __aenter__(slf: Py<Self>) -> Operation {
        Operation::new(Work::Over, Shape::Itself(slf.into_any()))
    }

    fn __aexit__(
        &self,
        kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<Operation> {
        runtime::handle()?;
        self.closing(Shape::Leave { is_failing: !kind.is_none() })
    }

    fn __repr__(&self) -> String {
        if runtime::is_forked() {
            return "<bertha.Connection of the parent>".to_owned();
        }
        let any = &self.shared.any;
        format!("<bertha.Connection from {} to {}>", any.local_address(), any.peer_address())
    }
}

/// Returns the awaitable of what is done already, which is one for all.
fn done(py: Python<'_>) -> PyResult<Py<PyAny>> {
    static DONE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    Ok(DONE.get_or_try_init(py, || Operation::new(Work::Done, Shape::Plain).into_py_any(py))?.clone_ref(py))
}
