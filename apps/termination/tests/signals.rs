//! Signals to this process. The test has no harness, whose threads would exist before the call.

use bertha_termination::Termination;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::error::Error;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake};
use std::thread::{self, Thread};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let termination = Termination::expect()?;
    // A signal that comes before the wait is not lost.
    kill(Pid::this(), Signal::SIGTERM)?;
    termination.wait()?;
    let mut asked = pin!(termination.into_future()?);
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut cx = Context::from_waker(&waker);
    assert!(asked.as_mut().poll(&mut cx).is_pending());
    kill(Pid::this(), Signal::SIGINT)?;
    while asked.as_mut().poll(&mut cx).is_pending() {
        thread::park();
    }
    Ok(())
}
