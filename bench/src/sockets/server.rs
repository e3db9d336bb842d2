//! A server in a process of its own.

use crate::{Error, ErrorKind};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest time that a server takes to start.
const START: Duration = Duration::from_secs(10);

/// A server, which is killed when the value is dropped.
#[derive(Debug)]
pub(super) struct Server {
    process: Child,
    pub(super) port: u16,
}

impl Server {
    /// Starts a command with a free port, and waits until something listens there.
    ///
    /// # Errors
    /// [`ErrorKind::Core`] if the program is not installed, [`ErrorKind::Stalled`] if it does not listen.
    pub(super) fn start(
        name: &str,
        command: impl FnOnce(u16) -> Result<Command, Error>,
    ) -> Result<Self, Error> {
        let server = Self::start_silent(name, command)?;
        let begun = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, server.port)).is_err() {
            if begun.elapsed() > START {
                return Err(Error::new(ErrorKind::Stalled, format!("{name} does not listen")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// Starts a command with a free port and does not wait for it.
    ///
    /// # Errors
    /// [`ErrorKind::Core`] if the program is not installed.
    pub(super) fn start_silent(
        name: &str,
        command: impl FnOnce(u16) -> Result<Command, Error>,
    ) -> Result<Self, Error> {
        // The port is free until another program takes it.
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        let port = free.map_err(Error::while_doing(ErrorKind::Socket, "looking for a free port"))?.port();
        let process = command(port)?.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let process = process.map_err(Error::while_doing(ErrorKind::Core, format!("starting {name}")))?;
        Ok(Self { process, port })
    }

    /// Returns the processor time of all threads of the process so far.
    ///
    /// # Errors
    /// [`ErrorKind::Core`] if the system does not tell.
    pub(super) fn processor_time(&self) -> Result<Duration, Error> {
        processor_time(&self.process)
    }
}

/// Returns the processor time of all threads of a process so far.
///
/// # Errors
/// [`ErrorKind::Core`] if the system does not tell.
pub(super) fn processor_time(process: &Child) -> Result<Duration, Error> {
    processor_time_of(process.id())
}

/// Returns the processor time of all threads of the process with this number so far.
///
/// # Errors
/// [`ErrorKind::Core`] if the system does not tell.
pub(super) fn processor_time_of(process: u32) -> Result<Duration, Error> {
    let untold = || Error::while_doing(ErrorKind::Core, "reading the processor time of a process");
    let mut nanoseconds = 0;
    let tasks = std::fs::read_dir(format!("/proc/{process}/task"));
    for task in tasks.map_err(untold())? {
        let path = task.map_err(untold())?.path().join("schedstat");
        // A thread may end meanwhile; its time is lost, and programs here keep theirs.
        let text = std::fs::read_to_string(path).unwrap_or_default();
        nanoseconds += text.split(' ').next().and_then(|it| it.parse::<u64>().ok()).unwrap_or_default();
    }
    Ok(Duration::from_nanos(nanoseconds))
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
