//! Instructions per operation, counted one by one: for what valgrind cannot run, such as DPDK.
//!
//! The program under measurement is a [probe](crate::probe) of this same binary, as for
//! [`instructions`](crate::instructions). It says where its work [begins](begin) and where it [ends](end); between the two
//! the processor stops after each instruction of its main thread (`ptrace(2)`, `PTRACE_SINGLESTEP`), and the stops are
//! counted. That takes some microseconds an instruction, so a probe should do little work, and all of it in one thread.
//!
//! What is counted is **user space of the main thread alone**, libraries included. A system call is one instruction,
//! whatever the kernel does. The probe's other threads stand still meanwhile: at that pace they would do, uncounted, what
//! the main thread is about to do. So who waits for another thread waits for ever, and is ended after a while.
//!
//! Callgrind counts the same. What differs is which variants of the C library's functions are taken, since valgrind
//! shows programs a smaller processor, and the clock, which valgrind has asked by a system call. Of requests to the
//! store in memory, which both can count, the stops are 1 to 2 % fewer than callgrind's instructions, and one run
//! differs from the next by less than one in ten thousand.

use crate::program::Program;
use crate::{Error, ErrorKind};
use nix::errno::Errno;
use nix::sys::ptrace;
use nix::sys::signal::{Signal, kill, raise};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// What a probe sends itself where its work begins. Programs that nobody traces ignore it.
const BEGIN: Signal = Signal::SIGURG;

/// What it sends itself where its work ends. Likewise.
const END: Signal = Signal::SIGWINCH;

/// No count takes longer.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often a thread is caught outside of a system call before that is an error.
const ATTEMPTS: usize = 1000;

/// Counts the instructions of one binary's probes, those that mark their work.
#[derive(Clone, Debug)]
pub struct Stepper {
    program: Program,
}

/// Marks the beginning of what is counted. Does nothing where nobody counts.
///
/// # Errors
/// [`ErrorKind::Tracer`] when the system refuses.
pub fn begin() -> Result<(), Error> {
    raise(BEGIN).map_err(Error::while_doing(ErrorKind::Tracer, "marking where the work begins"))
}

/// Marks the end of what is counted. Does nothing where nobody counts.
///
/// # Errors
/// [`ErrorKind::Tracer`] when the system refuses.
pub fn end() -> Result<(), Error> {
    raise(END).map_err(Error::while_doing(ErrorKind::Tracer, "marking where the work ends"))
}

/// Lets the process that started this one count. To be called first of all, in the main thread.
///
/// # Errors
/// [`ErrorKind::Tracer`] when the system refuses, as it does where another one traces already.
pub fn be_traced() -> Result<(), Error> {
    ptrace::traceme().map_err(Error::while_doing(ErrorKind::Tracer, "asking to be traced"))
}

impl Stepper {
    /// A counter for the probes of the running program.
    ///
    /// # Errors
    /// [`ErrorKind::Tracer`] when the system does not say which program runs.
    pub fn of_this_program() -> Result<Self, Error> {
        Program::running(ErrorKind::Tracer).map(|program| Self { program })
    }

    /// A counter for the probes of another build of this program.
    pub fn of(binary: impl Into<PathBuf>) -> Self {
        Self { program: Program::at(binary) }
    }

    /// User-space instructions per iteration of the probe, between its marks.
    ///
    /// # Errors
    /// [`ErrorKind::Probe`] for no iterations, [`ErrorKind::Tracer`] when the probe fails, does not mark its work or takes longer
    /// than two minutes, and when the system lets nobody trace.
    pub fn per_iteration(&self, probe: &str, iterations: u64) -> Result<f64, Error> {
        let [binary, arguments @ ..] = self.program.command_line(probe, iterations)?;
        let child = Command::new(binary)
            .args(arguments)
            .arg("--traced")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(Error::while_doing(ErrorKind::Tracer, "starting a probe"))?;
        let main = Pid::from_raw(child.id().cast_signed());
        let (counted, is_counted) = mpsc::channel::<()>();
        let counted = std::thread::scope(|scope| {
            scope.spawn(move || {
                if is_counted.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                    // If it has ended just now, there is nothing to end.
                    let _ = kill(main, Signal::SIGKILL);
                }
            });
            let count = Traced { main, others: Vec::new() }.count();
            drop(counted);
            count
        });
        match counted {
            Ok(Some(count)) => Ok(count as f64 / iterations as f64),
            Ok(None) => Err(because(child, probe)),
            Err(error) => {
                // The child is ours, and is not to outlive this; if it has ended, that is as well.
                let _ = kill(main, Signal::SIGKILL);
                Err(error)
            }
        }
    }
}

/// Why a probe ended before its work was done.
fn because(mut child: Child, probe: &str) -> Error {
    let mut said = String::new();
    if let Some(stderr) = &mut child.stderr {
        // Without it the message is just shorter.
        let _ = stderr.read_to_string(&mut said);
    }
    let what =
        format!("probe {probe} failed, took longer than {PATIENCE:?}, or does not mark its work: {said}");
    Error::new(ErrorKind::Tracer, what)
}

/// A probe that asked to be traced.
struct Traced {
    main: Pid,
    /// Its other threads that are held.
    others: Vec<Pid>,
}

impl Traced {
    /// Runs the probe to its end, and counts; `None` if it has failed.
    fn count(mut self) -> Result<Option<u64>, Error> {
        if !self.run_to(Some(BEGIN))? {
            return Ok(None);
        }
        self.hold_others()?;
        let (mut count, mut signal) = (0, None);
        loop {
            ptrace::step(self.main, signal.take()).map_err(tracing)?;
            match waitpid(self.main, None).map_err(tracing)? {
                WaitStatus::Stopped(_, Signal::SIGTRAP) => count += 1,
                WaitStatus::Stopped(_, END) => break,
                WaitStatus::Stopped(_, other) => signal = Some(other),
                _ => return Ok(None),
            }
        }
        for other in self.others.drain(..) {
            ptrace::detach(other, None).map_err(tracing)?;
        }
        ptrace::cont(self.main, None).map_err(tracing)?;
        Ok(self.run_to(None)?.then_some(count))
    }

    /// Lets the main thread run until it sends itself `mark`, or to its end: whether it came there.
    fn run_to(&self, mark: Option<Signal>) -> Result<bool, Error> {
        loop {
            match waitpid(self.main, None).map_err(tracing)? {
                WaitStatus::Stopped(_, signal) if Some(signal) == mark => return Ok(true),
                WaitStatus::Stopped(_, signal) => ptrace::cont(self.main, signal).map_err(tracing)?,
                WaitStatus::Exited(_, status) => return Ok(mark.is_none() && status == 0),
                WaitStatus::Signaled(..) => return Ok(false),
                _ => {}
            }
        }
    }

    /// Holds all threads but the main one, each within a system call: there it has nothing locked that the main thread needs.
    fn hold_others(&mut self) -> Result<(), Error> {
        let tasks = format!("/proc/{}/task", self.main);
        let names = std::fs::read_dir(&tasks).and_then(|tasks| {
            tasks.map(|task| task.map(|task| task.file_name())).collect::<Result<Vec<_>, _>>()
        });
        let names = names.map_err(Error::while_doing(ErrorKind::Tracer, "listing a probe's threads"))?;
        for name in names {
            let Some(thread) = name.to_str().and_then(|name| name.parse().ok()).map(Pid::from_raw) else {
                continue;
            };
            if thread != self.main {
                self.hold(thread)?;
            }
        }
        Ok(())
    }

    fn hold(&mut self, thread: Pid) -> Result<(), Error> {
        let place = format!("/proc/{}/task/{thread}/syscall", self.main);
        for _ in 0..ATTEMPTS {
            ptrace::attach(thread).map_err(tracing)?;
            while !matches!(
                waitpid(thread, Some(WaitPidFlag::__WALL)).map_err(tracing)?,
                WaitStatus::Stopped(_, Signal::SIGSTOP)
            ) {
                ptrace::cont(thread, None).map_err(tracing)?;
            }
            let call = std::fs::read_to_string(&place)
                .map_err(Error::while_doing(ErrorKind::Tracer, "asking where a probe's thread is"))?;
            // The number of the call; -1 outside of one.
            if call.starts_with(|first: char| first.is_ascii_digit()) {
                self.others.push(thread);
                return Ok(());
            }
            ptrace::detach(thread, None).map_err(tracing)?;
        }
        Err(Error::new(ErrorKind::Tracer, "a thread of the probe never rests, so it can't be held"))
    }
}

fn tracing(error: Errno) -> Error {
    Error::while_doing(ErrorKind::Tracer, "tracing a probe")(error)
}
