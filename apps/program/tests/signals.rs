//! Signals to this process. The test has no harness, whose threads would exist before the call.

#![allow(clippy::print_stdout, reason = "lists its test")]

use bertha_program::Termination;
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
    // cargo-nextest asks a test program for its tests, then for the ignored ones, and runs what is listed.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        if !arguments.iter().any(|argument| argument == "--ignored") {
            println!("signals_are_awaited: test");
        }
        return Ok(());
    }
    signals_are_awaited()
}

fn signals_are_awaited() -> Result<(), Box<dyn Error>> {
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
