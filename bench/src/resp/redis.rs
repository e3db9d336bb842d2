//! A `redis-server` for a measurement.

use crate::{Error, ErrorKind};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest time that the server takes to start.
const START: Duration = Duration::from_secs(10);

/// A server that keeps nothing on a disk. It is killed when the value is dropped.
#[derive(Debug)]
pub(super) struct RedisServer {
    process: Child,
    port: u16,
}

impl RedisServer {
    /// Starts a server on the calling thread's core, with a single thread.
    ///
    /// # Errors
    /// [`ErrorKind::Core`] if the server is not installed, [`ErrorKind::Stalled`] if it does not answer.
    pub(super) fn start() -> Result<Self, Error> {
        // The port is free until another program takes it.
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        let port = free.map_err(Error::while_doing(ErrorKind::Socket, "looking for a free port"))?.port();
        let number = port.to_string();
        let options = [
            "--port",
            &number,
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
            "--io-threads",
            "1",
        ];
        let process = Command::new("redis-server").args(options).stdout(Stdio::null()).spawn();
        let process = process.map_err(Error::while_doing(ErrorKind::Core, "starting redis-server"))?;
        let server = Self { process, port };
        let begun = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if begun.elapsed() > START {
                return Err(Error::new(ErrorKind::Stalled, "redis-server does not answer"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// Returns the port at which the server listens on the loopback interface.
    pub(super) fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        // The server may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
