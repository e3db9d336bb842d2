//! The awaitables of Python, which wait in an event loop or in the calling thread.

mod connection;
mod shared;
mod work;

use crate::bell::{Bell, Signal, Waiter};
use crate::failure::Failure;
use crate::memory;
use crate::parker::Parker;
use crate::runtime;
use bertha::{Buf, Error, ErrorKind};
pub(crate) use connection::Connection;
use parking_lot::{Mutex, MutexGuard};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyRuntimeError, PyStopAsyncIteration, PyStopIteration, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyType};
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
pub(crate) use work::{Outcome, Work};

/// Longest time for which a thread does not look for signals: another thread may get them.
const UNSEEN: Duration = Duration::from_millis(50);

/// An operation, which begins when it is first awaited. It is a coroutine for asyncio, and has `wait` for threads.
#[pyclass(frozen, weakref, module = "bertha._bertha")]
pub(crate) struct Operation(Mutex<State>);

struct State {
    work: Work,
    shape: Shape,
    /// Present once the operation has waited in an event loop.
    signal: Option<(Py<Bell>, Arc<Signal>)>,
    is_over: bool,
}

/// The value that Python gets of an outcome.
pub(crate) enum Shape {
    /// The outcome itself: messages are bytes.
    Plain,
    /// The outcome itself, and the end of an iteration if the connection was closed in order.
    Next,
    /// Messages are views of the memory in which they arrived.
    View,
    /// False, so that an exception in a `with` goes on; errors are dropped if there is such an exception.
    Leave { is_failing: bool },
    /// The object is this one, whatever the outcome is.
    Itself(Py<PyAny>),
}

impl Operation {
    pub(crate) fn new(work: Work, shape: Shape) -> Self {
        Self(Mutex::new(State { work, shape, signal: None, is_over: false }))
    }

    fn state(&self) -> PyResult<MutexGuard<'_, State>> {
        let in_use = || PyRuntimeError::new_err("another thread waits for the operation");
        self.0.try_lock().ok_or_else(in_use)
    }

    fn fresh(&self) -> PyResult<MutexGuard<'_, State>> {
        match self.state()? {
            state if state.is_over => Err(PyRuntimeError::new_err("the operation was awaited already")),
            state => Ok(state),
        }
    }

    /// Returns a waiter if the operation goes on, and its value otherwise.
    fn step(&self, py: Python<'_>) -> PyResult<Result<Py<Waiter>, Option<Py<PyAny>>>> {
        let (mut state, runtime) = (self.fresh()?, runtime::handle()?);
        // Most operations are done at once, without the price of a waker.
        if state.signal.is_none()
            && let Poll::Ready(outcome) = poll(runtime, &mut state.work, None)
        {
            return state.end(py, outcome).map(Err);
        }
        let (bell, signal) = match &state.signal {
            Some((bell, signal)) => (bell.clone_ref(py), signal.clone()),
            None => {
                let bell = Bell::current(py)?;
                let signal = bell.get().signal();
                state.signal = Some((bell.clone_ref(py), signal.clone()));
                (bell, signal)
            }
        };
        signal.reset();
        match poll(runtime, &mut state.work, Some(&Waker::from(signal.clone()))) {
            Poll::Ready(outcome) => state.end(py, outcome).map(Err),
            Poll::Pending => {
                let waiter = Waiter::new(py, bell, signal.clone())?;
                signal.arm(waiter.clone_ref(py));
                Ok(Ok(waiter))
            }
        }
    }

    fn give_up(&self) -> PyResult<()> {
        let mut state = self.state()?;
        state.is_over = !matches!(state.work, Work::Done);
        state.give_up();
        Ok(())
    }
}

/// Goes on with the work, within the runtime.
fn poll(runtime: &Handle, work: &mut Work, waker: Option<&Waker>) -> Poll<Result<Outcome, Failure>> {
    let _context = runtime.enter();
    work.poll(waker)
}

impl State {
    fn give_up(&mut self) -> bool {
        if let Some((_, signal)) = self.signal.take() {
            signal.disarm();
        }
        self.work.give_up()
    }

    fn end(&mut self, py: Python<'_>, outcome: Result<Outcome, Failure>) -> PyResult<Option<Py<PyAny>>> {
        if !matches!(self.work, Work::Done) {
            self.is_over = true;
            self.work = Work::Over;
        }
        self.signal = None;
        match (outcome, &self.shape) {
            (Ok(_), Shape::Itself(object)) => Ok(Some(object.clone_ref(py))),
            (Ok(_), Shape::Leave { .. }) | (Err(_), Shape::Leave { is_failing: true }) => {
                Ok(Some(false.into_py_any(py)?))
            }
            (Ok(outcome), shape) => outcome.into_python(py, shape),
            (Err(failure), Shape::Next) if failure.kind == ErrorKind::Closed.into() => {
                Err(PyStopAsyncIteration::new_err(()))
            }
            (Err(failure), _) => Err(failure.into()),
        }
    }
}

impl Outcome {
    fn into_python(self, py: Python<'_>, shape: &Shape) -> PyResult<Option<Py<PyAny>>> {
        let message = |message: Buf| match shape {
            Shape::View => memory::view(py, message).map(Bound::unbind),
            _ => {
                let bytes = PyBytes::new(py, &message).into_any().unbind();
                // A program that has its copy does not tell when its work is done.
                message.done();
                Ok(bytes)
            }
        };
        Ok(match self {
            Self::Nothing => None,
            Self::Message(received) => Some(message(received)?),
            Self::Burst(burst) => {
                let burst: Vec<_> = burst.into_iter().map(message).collect::<PyResult<_>>()?;
                Some(PyList::new(py, burst)?.into_any().unbind())
            }
            Self::Made(make) => Some(make(py)?),
            Self::End => return Err(PyStopAsyncIteration::new_err(())),
            Self::Connection(any) => Some(Connection::new(any).into_py_any(py)?),
        })
    }
}

#[pymethods]
impl Operation {
    fn __await__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<Waiter>>> {
        match self.step(py)? {
            Ok(waiter) => Ok(Some(waiter)),
            Err(None) => Ok(None),
            Err(Some(value)) => Err(PyStopIteration::new_err((value,))),
        }
    }

    fn send(&self, py: Python<'_>, _value: &Bound<'_, PyAny>) -> PyResult<Py<Waiter>> {
        self.__next__(py)?.ok_or_else(|| PyStopIteration::new_err(()))
    }

    #[pyo3(signature = (kind, value = None, traceback = None))]
    fn throw(
        &self,
        kind: &Bound<'_, PyAny>,
        value: Option<&Bound<'_, PyAny>>,
        traceback: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<Waiter>> {
        let _ = traceback;
        self.give_up()?;
        let error = match (kind.cast::<PyType>(), value) {
            (Err(_), _) => kind.clone(),
            (Ok(class), Some(value)) if value.is_instance(class)? => value.clone(),
            (Ok(class), Some(value)) => class.call1((value,))?,
            (Ok(class), None) => class.call0()?,
        };
        Err(PyErr::from_value(error))
    }

    fn close(&self) -> PyResult<()> {
        self.give_up()
    }

    /// Waits in this thread, without the interpreter. Signals are handled meanwhile.
    #[pyo3(signature = (timeout = None))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Py<PyAny>>> {
        let until = until(timeout)?;
        let (mut state, runtime) = (self.fresh()?, runtime::handle()?);
        if let Poll::Ready(outcome) = poll(runtime, &mut state.work, None) {
            return state.end(py, outcome);
        }
        let parker = Parker::of_thread().map_err(|error| Failure::from(Error::from(error)))?;
        let waker = Waker::from(parker.clone());
        loop {
            let work = &mut state.work;
            let (outcome, is_late) = py.detach(|| {
                let outcome = poll(runtime, work, Some(&waker));
                let left = until.map_or(UNSEEN, |until| until.saturating_duration_since(Instant::now()));
                if outcome.is_pending() && !left.is_zero() {
                    parker.park(left.min(UNSEEN));
                }
                runtime::stay_if_exiting();
                (outcome, left.is_zero())
            });
            if let Poll::Ready(outcome) = outcome {
                return state.end(py, outcome);
            }
            if let Err(signal) = py.check_signals() {
                state.is_over = true;
                state.give_up();
                return Err(signal);
            }
            if is_late {
                state.is_over = true;
                let late = Failure::new(ErrorKind::TimedOut, "the time of the call is up");
                return if state.give_up() { Ok(None) } else { Err(late.into()) };
            }
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Some(state) = self.0.try_lock() else { return Ok(()) };
        let Some((bell, signal)) = &state.signal else { return Ok(()) };
        visit.call(bell)?;
        signal.traverse(&visit)
    }

    fn __clear__(&self) {
        let signal = self.0.try_lock().and_then(|mut state| state.signal.take());
        if let Some((_, signal)) = signal {
            signal.disarm();
        }
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        let state = self.0.get_mut();
        if runtime::is_forked() {
            // Its locks and descriptors are the parent's.
            std::mem::forget(std::mem::replace(&mut state.work, Work::Over));
        } else {
            state.give_up();
        }
    }
}

/// Reads a number of seconds; `None` is without limit.
fn until(timeout: Option<f64>) -> PyResult<Option<Instant>> {
    let Some(timeout) = timeout else { return Ok(None) };
    if timeout.is_nan() || timeout < 0.0 {
        return Err(PyValueError::new_err("a timeout is None, or a number of seconds from 0"));
    }
    // A time that no clock reaches is without limit.
    let time = Duration::try_from_secs_f64(timeout).ok();
    Ok(time.and_then(|time| Instant::now().checked_add(time)))
}
