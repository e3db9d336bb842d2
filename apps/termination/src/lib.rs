//! SIGINT and SIGTERM, for programs that end in order on whichever runtime.

#![forbid(unsafe_code)]

use nix::sys::signal::{SigSet, Signal};
use std::io;
use std::thread;
use tokio::sync::oneshot;

/// The wish of a user or of the system that the program ends, by SIGINT or SIGTERM.
#[derive(Debug)]
pub struct Termination(SigSet);

impl Termination {
    /// From now on the signals wait to be asked for, instead of ending the process. To be called before the program has other threads: those
    /// that begin later inherit it, and one that began before would still be ended, with the process.
    ///
    /// # Errors
    /// Those of the system.
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
    /// Those of the system.
    pub fn wait(&self) -> io::Result<()> {
        self.0.wait()?;
        Ok(())
    }

    /// Waits likewise in a task, of any runtime: a thread of its own waits from now on.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn into_future(self) -> io::Result<impl Future<Output = ()> + Send + 'static> {
        let (tell, told) = oneshot::channel();
        thread::Builder::new().name("termination".into()).spawn(move || {
            // Where the system refuses to wait, nobody would hear of the signal: it is taken for one.
            let _ = self.wait();
            // The task may have ended by itself.
            let _ = tell.send(());
        })?;
        Ok(async move {
            let _ = told.await;
        })
    }
}
