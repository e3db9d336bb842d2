//! SIGINT and SIGTERM, for programs that end properly on any runtime.

use nix::sys::signal::{SigSet, Signal};
use std::io;
use std::thread;
use tokio::sync::oneshot;

/// The request of a user or of the system that the program ends, by SIGINT or SIGTERM.
#[derive(Debug)]
pub struct Termination(SigSet);

impl Termination {
    /// Makes the signals wait for this value, instead of ending the process. The caller must do so before the
    /// program has other threads: threads that begin later inherit the setting, and an earlier thread would
    /// still be ended by a signal, with the process.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn expect() -> io::Result<Self> {
        let mut signals = SigSet::empty();
        signals.add(Signal::SIGINT);
        signals.add(Signal::SIGTERM);
        signals.thread_block()?;
        Ok(Self(signals))
    }

    /// Blocks the thread until one of the signals has come.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn wait(&self) -> io::Result<()> {
        self.0.wait()?;
        Ok(())
    }

    /// Returns a future that waits for a signal in a task, on any runtime: a thread of its own waits from now
    /// on.
    ///
    /// # Errors
    /// Fails if the system provides no thread.
    pub fn into_future(self) -> io::Result<impl Future<Output = ()> + Send + 'static> {
        let (tell, told) = oneshot::channel();
        thread::Builder::new().name("termination".into()).spawn(move || {
            // If the system refuses to wait, the signal would go unnoticed: the error counts as a signal.
            let _ = self.wait();
            // The task may have ended already.
            let _ = tell.send(());
        })?;
        Ok(async move {
            let _ = told.await;
        })
    }
}
