//! A real Redis of the test's own.

use crate::skip;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server of Redis, which ends with the test.
pub(crate) struct Redis {
    child: Child,
    folder: tempfile::TempDir,
}

impl Redis {
    /// Starts a server at a Unix socket, and at an address of TCP and with a password if they are given. Returns
    /// `None` if Redis is not installed.
    pub(crate) fn start(addr: Option<SocketAddr>, password: Option<&str>) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("redis-server");
        command.args(["--save", "", "--appendonly", "no", "--dir"]).arg(folder.path());
        command.arg("--unixsocket").arg(folder.path().join("redis.sock"));
        match addr {
            Some(addr) => {
                command.args(["--bind", &addr.ip().to_string(), "--port", &addr.port().to_string()])
            }
            None => command.args(["--port", "0"]),
        };
        if let Some(password) = password {
            command.args(["--requirepass", password]);
        }
        match command.stdout(Stdio::null()).spawn() {
            Ok(child) => {
                let mut redis = Self { child, folder };
                while UnixStream::connect(redis.path()).is_err() {
                    assert!(redis.child.try_wait().unwrap().is_none(), "Redis has ended");
                    std::thread::sleep(Duration::from_millis(10));
                }
                Some(redis)
            }
            Err(error) => {
                skip(&format!("redis-server: {error}; install redis-server"));
                None
            }
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("redis.sock")
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
