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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests panic to fail")]

    use super::*;
    use nix::sys::pthread::{pthread_kill, pthread_self};
    use std::pin::pin;
    use std::sync::Arc;
    use std::task::{Context, Wake};

    struct Unpark(thread::Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    #[test]
    fn a_signal_is_waited_for_and_ends_nothing() {
        let termination = Termination::expect().unwrap();
        pthread_kill(pthread_self(), Signal::SIGTERM).unwrap();
        termination.wait().unwrap();
        let mut asked = pin!(termination.into_future().unwrap());
        let waker = Arc::new(Unpark(thread::current())).into();
        let mut cx = Context::from_waker(&waker);
        assert!(asked.as_mut().poll(&mut cx).is_pending());
        // To the process: the thread that waits takes it, and this one has it blocked.
        nix::sys::signal::kill(nix::unistd::Pid::this(), Signal::SIGINT).unwrap();
        while asked.as_mut().poll(&mut cx).is_pending() {
            thread::park();
        }
    }
}
