//! The bell that wakes an event loop.
//!
//! Wakers are called in any thread, without the interpreter. They leave the woken in a list, and the first of them writes to a
//! descriptor, which the loop watches: one wake-up of the loop is for all that were woken meanwhile.

mod waiter;

use crate::failure::Failure;
use bertha::Error;
use parking_lot::Mutex;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{read, write};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;
pub(crate) use waiter::Waiter;

/// The bells of the open event loops.
static BELLS: Mutex<Vec<Py<Bell>>> = Mutex::new(Vec::new());

/// The bell of an event loop, which calls it when its descriptor is readable.
#[pyclass(frozen, module = "bertha._bertha")]
pub(crate) struct Bell {
    event_loop: Py<PyAny>,
    rope: Arc<Rope>,
}

/// The part of a bell that other threads touch.
struct Rope {
    descriptor: OwnedFd,
    woken: Mutex<Vec<Arc<Signal>>>,
}

/// The waker of one operation.
pub(crate) struct Signal {
    rope: Arc<Rope>,
    is_woken: AtomicBool,
    waiter: Mutex<Option<Py<Waiter>>>,
}

impl Bell {
    /// Returns the bell of the event loop that runs in this thread.
    ///
    /// # Errors
    /// `RuntimeError` if none runs; errors of the system, such as no room for a descriptor.
    pub(crate) fn current(py: Python<'_>) -> PyResult<Py<Self>> {
        static RUNNING: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let running = RUNNING.import(py, "asyncio", "get_running_loop")?;
        let event_loop = running.call0()?;
        let known = |bells: &[Py<Self>]| {
            bells.iter().find(|bell| bell.get().event_loop.is(&event_loop)).map(|bell| bell.clone_ref(py))
        };
        // The lock is let go before Python runs.
        let bell = known(&BELLS.lock());
        match bell {
            Some(bell) => Ok(bell),
            None => Self::hang(py, event_loop),
        }
    }

    /// Makes the bell of an event loop.
    #[cold]
    fn hang(py: Python<'_>, event_loop: Bound<'_, PyAny>) -> PyResult<Py<Self>> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let descriptor =
            eventfd(0, flags).map_err(|error| Failure::from(Error::from(io::Error::from(error))))?;
        let number = descriptor.as_raw_fd();
        let rope = Arc::new(Rope { descriptor, woken: Mutex::default() });
        let bell = Py::new(py, Self { event_loop: event_loop.clone().unbind(), rope })?;
        let ring = bell.getattr(py, "ring")?;
        event_loop.call_method1("add_reader", (number, ring))?;
        // No lock is held while Python runs.
        let bells = std::mem::take(&mut *BELLS.lock());
        let mut open = vec![bell.clone_ref(py)];
        for bell in bells {
            let is_closed = bell.get().event_loop.bind(py).call_method0("is_closed");
            if !is_closed.and_then(|closed| closed.extract()).unwrap_or(true) {
                open.push(bell);
            }
        }
        BELLS.lock().append(&mut open);
        Ok(bell)
    }

    pub(crate) fn event_loop(&self) -> &Py<PyAny> {
        &self.event_loop
    }

    /// Returns a waker.
    pub(crate) fn signal(&self) -> Arc<Signal> {
        Arc::new(Signal {
            rope: self.rope.clone(),
            is_woken: AtomicBool::new(false),
            waiter: Mutex::default(),
        })
    }
}

#[pymethods]
impl Bell {
    /// Lets the tasks go on whose operations were woken: at once, and not in the next round of the loop.
    fn ring(&self, py: Python<'_>) -> PyResult<()> {
        let _ = read(&self.rope.descriptor, &mut [0_u8; 8]);
        let woken = std::mem::take(&mut *self.rope.woken.lock());
        let mut woken = woken.into_iter();
        while let Some(signal) = woken.next() {
            let waiter = signal.waiter.lock().take();
            let Some(waiter) = waiter else { continue };
            if let Err(error) = Waiter::wake(&waiter, py) {
                // The loop ends with it, by Ctrl-C or `SystemExit`. It may go on later.
                woken.for_each(|signal| signal.rope.ring(signal.clone()));
                return Err(error);
            }
        }
        Ok(())
    }
}

impl Rope {
    fn ring(&self, signal: Arc<Signal>) {
        let mut woken = self.woken.lock();
        woken.push(signal);
        if woken.len() == 1 {
            // The counter is far from its bound.
            let _ = write(&self.descriptor, &1_u64.to_ne_bytes());
        }
    }
}

impl Signal {
    /// Lets the waiter be woken by the next call of the waker.
    pub(crate) fn arm(&self, waiter: Py<Waiter>) {
        *self.waiter.lock() = Some(waiter);
    }

    /// Prepares for another wait.
    pub(crate) fn reset(&self) {
        self.is_woken.store(false, Ordering::Release);
    }

    /// Shows the waiter to the collector of garbage.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self.waiter.try_lock() {
            Some(waiter) => visit.call(&*waiter),
            None => Ok(()),
        }
    }

    /// Forgets the waiter.
    pub(crate) fn disarm(&self) {
        let waiter = self.waiter.lock().take();
        drop(waiter);
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        if !self.is_woken.swap(true, Ordering::AcqRel) {
            let rope = self.rope.clone();
            rope.ring(self);
        }
    }
}
