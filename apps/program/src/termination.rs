//! SIGINT and SIGTERM, for programs that end in order on any runtime.

use crate::exit;
use crate::hold::{Hold, Holds};
use crate::ready_for_signals::THREAD;
use bertha_core::{Error, ErrorKind};
use nix::sys::signal::{SigSet, Signal};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use tokio::sync::Notify;

/// The request of a user or of the system that the program ends, by SIGINT or SIGTERM. Clones tell of the
/// same request.
///
/// The first signal is told and ends nothing by itself. A second signal ends the process at once, or as soon as
/// nothing is [held](Self::hold), with the code [`INTERRUPTED`](exit::INTERRUPTED).
#[derive(Debug, Clone)]
pub struct Termination(Arc<Coming>);

#[derive(Debug, Default)]
struct Coming {
    has_come: Mutex<bool>,
    has_interrupted: AtomicBool,
    for_threads: Condvar,
    for_tasks: Notify,
    holds: Arc<Holds>,
}

fn signals() -> SigSet {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGINT);
    signals.add(Signal::SIGTERM);
    signals
}

impl Termination {
    /// Makes the signals wait for this value, instead of ending the process. The caller must do so before the
    /// program has other threads: threads that begin later inherit the setting, and an earlier thread would
    /// still be ended by a signal, with the process.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn expect() -> io::Result<Self> {
        let signals = signals();
        signals.thread_block()?;
        let coming = Arc::new(Coming::default());
        let told = coming.clone();
        thread::Builder::new().name(THREAD.into()).spawn(move || {
            // If the system refuses to wait, a signal would go unnoticed: the error counts as a signal.
            let first = signals.wait();
            told.tell();
            if first.is_ok() && signals.wait().is_ok() {
                told.holds.until_released();
                std::process::exit(exit::INTERRUPTED.into());
            }
        })?;
        Ok(Self(coming))
    }

    /// Lets the signals end the process again, for a program that takes its place: it inherits what this thread blocks.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn give_back(&self) -> io::Result<()> {
        Ok(signals().thread_unblock()?)
    }

    /// Returns true if a signal has interrupted work.
    pub(crate) fn has_interrupted(&self) -> bool {
        self.0.has_interrupted.load(Relaxed)
    }

    /// Returns true if a signal has come.
    pub fn has_come(&self) -> bool {
        *self.0.has_come.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a signal has come.
    pub async fn wait(&self) {
        // A signal that comes between these two lines wakes the future, which exists already.
        let told = self.0.for_tasks.notified();
        if !self.has_come() {
            told.await;
        }
    }

    /// Keeps a second signal from ending the process until the result is dropped, for five seconds at most: for a state
    /// of the system that would outlive the process, and that the process is about to remove.
    pub fn hold(&self) -> Hold {
        self.0.holds.take()
    }

    /// Blocks the thread until a signal has come.
    pub fn block(&self) {
        let come = self.0.has_come.lock().unwrap_or_else(PoisonError::into_inner);
        let _come = self.0.for_threads.wait_while(come, |come| !*come);
    }

    /// Serves until a signal comes, which is the end that a server is expected to have. Drops `serving` then.
    ///
    /// # Errors
    /// Errors of `serving`.
    pub async fn serve<E>(&self, serving: impl Future<Output = Result<(), E>>) -> Result<(), E> {
        tokio::select! {
            served = serving => served,
            () = self.wait() => Ok(()),
        }
    }

    /// Works until the work is done or a signal comes. Drops `work` then.
    ///
    /// # Errors
    /// Errors of `work`, and the error of [`interrupted`](Self::interrupted).
    pub async fn work<T, E: From<Error>>(&self, work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        tokio::select! {
            done = work => done,
            () = self.wait() => Err(self.interrupted().into()),
        }
    }

    /// Returns the error of work that was not done when a signal came. A program that fails after this call
    /// has the exit code [`INTERRUPTED`](exit::INTERRUPTED).
    pub fn interrupted(&self) -> Error {
        // The program ends in the thread that reads the flag, after this call.
        self.0.has_interrupted.store(true, Relaxed);
        Error::new(ErrorKind::Closed, "interrupted by a signal")
    }
}

impl Coming {
    fn tell(&self) {
        *self.has_come.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.for_threads.notify_all();
        self.for_tasks.notify_waiters();
    }
}
