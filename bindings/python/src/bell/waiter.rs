//! The object for which a task of asyncio waits.

use super::{Bell, Signal};
use parking_lot::Mutex;
use pyo3::exceptions::PyRuntimeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use std::sync::Arc;

/// An object with the methods of `asyncio.Future` that a task calls. It has no result: its operation has.
#[pyclass(frozen, module = "bertha._bertha")]
pub(crate) struct Waiter {
    bell: Py<Bell>,
    signal: Arc<Signal>,
    state: Mutex<State>,
}

struct State {
    is_blocking: bool,
    callbacks: Vec<(Py<PyAny>, Option<Py<PyAny>>)>,
    end: End,
}

enum End {
    None,
    Woken,
    /// The task was cancelled, with the message of the call.
    Cancelled(Option<Py<PyAny>>),
}

impl Waiter {
    pub(crate) fn new(py: Python<'_>, bell: Py<Bell>, signal: Arc<Signal>) -> PyResult<Py<Self>> {
        let state = State { is_blocking: true, callbacks: Vec::new(), end: End::None };
        Py::new(py, Self { bell, signal, state: Mutex::new(state) })
    }

    /// Ends the wait, and lets the task go on.
    pub(crate) fn wake(waiter: &Py<Self>, py: Python<'_>) -> PyResult<()> {
        let mut callbacks = {
            let mut state = waiter.get().state.lock();
            if !matches!(state.end, End::None) {
                return Ok(());
            }
            state.end = End::Woken;
            std::mem::take(&mut state.callbacks)
        };
        for (callback, context) in callbacks.drain(..) {
            match context {
                Some(context) => context.call_method1(py, "run", (callback, waiter))?,
                None => callback.call1(py, (waiter,))?,
            };
        }
        Ok(())
    }

    fn call_soon(slf: &Bound<'_, Self>, callback: Py<PyAny>, context: Option<Py<PyAny>>) -> PyResult<()> {
        let py = slf.py();
        let event_loop = slf.get().bell.get().event_loop().bind(py);
        let options = PyDict::new(py);
        if let Some(context) = context {
            options.set_item("context", context)?;
        }
        event_loop.call_method("call_soon", (callback, slf), Some(&options))?;
        Ok(())
    }
}

#[pymethods]
impl Waiter {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.bell)?;
        let Some(state) = self.state.try_lock() else { return Ok(()) };
        for (callback, context) in &state.callbacks {
            visit.call(callback)?;
            visit.call(context)?;
        }
        Ok(())
    }

    fn __clear__(&self) {
        let callbacks = self.state.try_lock().map(|mut state| std::mem::take(&mut state.callbacks));
        drop(callbacks);
    }

    #[getter(_asyncio_future_blocking)]
    fn is_blocking(&self) -> bool {
        self.state.lock().is_blocking
    }

    #[setter(_asyncio_future_blocking)]
    fn set_blocking(&self, is_blocking: bool) {
        self.state.lock().is_blocking = is_blocking;
    }

    fn get_loop(&self, py: Python<'_>) -> Py<PyAny> {
        self.bell.get().event_loop().clone_ref(py)
    }

    #[pyo3(signature = (callback, *, context = None))]
    fn add_done_callback(
        slf: &Bound<'_, Self>,
        callback: Py<PyAny>,
        context: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let mut state = slf.get().state.lock();
        if matches!(state.end, End::None) {
            state.callbacks.push((callback, context));
            return Ok(());
        }
        drop(state);
        Self::call_soon(slf, callback, context)
    }

    /// Ends the wait with `CancelledError`, which the operation gets.
    #[pyo3(signature = (msg = None))]
    fn cancel(slf: &Bound<'_, Self>, msg: Option<Py<PyAny>>) -> PyResult<bool> {
        let callbacks = {
            let mut state = slf.get().state.lock();
            if !matches!(state.end, End::None) {
                return Ok(false);
            }
            state.end = End::Cancelled(msg);
            std::mem::take(&mut state.callbacks)
        };
        slf.get().signal.disarm();
        for (callback, context) in callbacks {
            Self::call_soon(slf, callback, context)?;
        }
        Ok(true)
    }

    fn result(&self, py: Python<'_>) -> PyResult<()> {
        static CANCELLED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        // Exceptions are made without the lock.
        let end = match &self.state.lock().end {
            End::Woken => return Ok(()),
            End::None => None,
            End::Cancelled(message) => Some(message.as_ref().map(|message| message.clone_ref(py))),
        };
        match end {
            None => Err(PyRuntimeError::new_err("the wait goes on")),
            Some(message) => {
                let class = CANCELLED.import(py, "asyncio", "CancelledError")?;
                let error = match message {
                    Some(message) => class.call1((message,))?,
                    None => class.call0()?,
                };
                Err(PyErr::from_value(error))
            }
        }
    }
}
