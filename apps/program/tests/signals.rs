//! Signals to this process. The test has no harness, whose threads would exist before the call.

#![allow(clippy::print_stdout, reason = "lists its test, and tells of a clean-up")]

use bertha_program::{Termination, exit};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::error::Error;
use std::pin::pin;
use std::process::Command;
use std::sync::Arc;
use std::task::{Context, Wake};
use std::thread::{self, Thread};
use std::time::Duration;

/// Variables with which the test runs itself, to be ended by its second signal, at once and after its clean-up.
const TWICE: &str = "BERTHA_PROGRAM_TWICE";
const HELD: &str = "BERTHA_PROGRAM_HELD";

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
    match [TWICE, HELD].map(|variable| std::env::var_os(variable).is_some()) {
        [true, _] => ended_by_the_second_signal(),
        [_, true] => ended_after_the_clean_up(),
        _ => signals_are_awaited(),
    }
}

fn signals_are_awaited() -> Result<(), Box<dyn Error>> {
    let termination = Termination::expect()?;
    assert!(!termination.has_come());
    {
        let mut asked = pin!(termination.wait());
        let waker = Arc::new(Unpark(thread::current())).into();
        let mut cx = Context::from_waker(&waker);
        assert!(asked.as_mut().poll(&mut cx).is_pending());
        kill(Pid::this(), Signal::SIGTERM)?;
        while asked.as_mut().poll(&mut cx).is_pending() {
            thread::park();
        }
    }
    // A signal that came before the wait is not lost.
    termination.clone().block();
    assert!(termination.has_come());
    for (variable, printed) in [(TWICE, ""), (HELD, "cleaned up\n")] {
        let ended = Command::new(std::env::current_exe()?).env(variable, "1").output()?;
        assert_eq!(ended.status.code(), Some(exit::INTERRUPTED.into()), "{ended:?}");
        assert_eq!(ended.stdout, printed.as_bytes(), "{ended:?}");
    }
    Ok(())
}

fn ended_by_the_second_signal() -> Result<(), Box<dyn Error>> {
    twice(&Termination::expect()?)?;
    loop {
        thread::park();
    }
}

fn ended_after_the_clean_up() -> Result<(), Box<dyn Error>> {
    let termination = Termination::expect()?;
    let held = termination.hold();
    twice(&termination)?;
    // A signal that did not wait would end the process meanwhile.
    thread::sleep(Duration::from_millis(100));
    println!("cleaned up");
    drop(held);
    loop {
        thread::park();
    }
}

fn twice(termination: &Termination) -> nix::Result<()> {
    kill(Pid::this(), Signal::SIGINT)?;
    termination.block();
    kill(Pid::this(), Signal::SIGTERM)
}
