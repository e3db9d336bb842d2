//! The way to the daemon.

use bertha_core::{Error, ErrorKind};
use bertha_datapath_shm::{Users, Waiting};
use bertha_runtime::tokio::Credentials;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Time between two attempts to find the daemon.
const PAUSE: Duration = Duration::from_millis(20);

/// The place of the daemon, and what the application asks of it.
#[derive(Debug, Clone)]
pub(super) struct Way {
    pub(super) path: PathBuf,
    pub(super) application: String,
    pub(super) within: Duration,
    pub(super) waiting: Waiting,
    pub(super) users: Users,
    pub(super) heap: usize,
}

impl Way {
    /// Waits until a daemon listens.
    pub(super) async fn find(&self, until: Instant) -> Result<UnixStream, Error> {
        loop {
            match connect(&self.path).await {
                Ok(socket) => return Ok(socket),
                Err(error) if !is_absence(&error) => return Err(self.refused(error)),
                Err(_) if Instant::now() + PAUSE >= until => return Err(self.late()),
                Err(_) => sleep(PAUSE).await,
            }
        }
    }

    /// Refuses a daemon whose user is not trusted.
    pub(super) fn check(&self, socket: &UnixStream) -> Result<(), Error> {
        let user = Credentials::of_peer(socket)?.user;
        if self.users.contain(user) {
            return Ok(());
        }
        let path = self.path.display();
        let what = format!("the daemon at {path} is of user {user}, whom `Attach::users` does not name");
        Err(Error::new(ErrorKind::Refused, what))
    }

    #[cold]
    pub(super) fn late(&self) -> Error {
        let path = self.path.display();
        let what =
            format!("no daemon takes applications at {path}; `bertha-rpcd --socket {path}` starts one");
        Error::new(ErrorKind::TimedOut, what)
    }

    #[cold]
    pub(super) fn refused(&self, error: io::Error) -> Error {
        match error.kind() {
            io::ErrorKind::PermissionDenied => {
                Error::new(ErrorKind::Refused, format!("the daemon at {}: {error}", self.path.display()))
            }
            _ => error.into(),
        }
    }
}

/// Connects without a wait for a daemon that takes nobody: the kernel's queue may be full.
pub(super) async fn connect(path: &Path) -> io::Result<UnixStream> {
    let socket = tokio::net::UnixStream::connect(path).await?.into_std()?;
    socket.set_nonblocking(false)?;
    Ok(socket)
}

pub(super) fn is_absence(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, NotFound, WouldBlock};
    matches!(error.kind(), NotFound | ConnectionRefused | WouldBlock)
}
