//! Attaching to the daemon.

use super::entry::Entry;
use super::{Client, Server};
use crate::attach::Role;
use crate::method::Service;
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

/// The way to the daemon of the machine.
///
/// A daemon that is not there yet is waited for. When a daemon has ended, clients and servers attach again to the next one, by themselves.
#[derive(Debug, Clone)]
pub struct Attach {
    pub(super) path: PathBuf,
    pub(super) application: String,
    pub(super) within: Duration,
    pub(super) waiting: Waiting,
    users: Users,
    pub(super) heap: usize,
}

impl Attach {
    /// Creates the way to the daemon that listens at this path, for an application of this name.
    pub fn new(path: impl AsRef<Path>, application: &str) -> Self {
        Self {
            path: path.as_ref().into(),
            application: application.into(),
            within: Duration::from_secs(10),
            waiting: Waiting::Park,
            users: Users::Same,
            heap: 256 << 20,
        }
    }

    /// Sets the time within which the daemon has to be there and to take the application at first: ten seconds by default. A daemon that has
    /// ended is waited for without end.
    #[must_use]
    pub fn within(self, within: Duration) -> Self {
        Self { within, ..self }
    }

    /// Sets the policy by which receivers wait: [`Park`](Waiting::Park) by default.
    #[must_use]
    pub fn waiting(self, waiting: Waiting) -> Self {
        Self { waiting, ..self }
    }

    /// Sets the users whose daemons the application trusts: [its own and root](Users::Same) by default. The memory that a daemon lends is read
    /// as it is.
    #[must_use]
    pub fn users(self, users: Users) -> Self {
        Self { users, ..self }
    }

    /// Sets the number of bytes up to which each heap grows: 256 MiB by default. The daemon may grant fewer.
    #[must_use]
    pub fn heap(self, bytes: usize) -> Self {
        Self { heap: bytes, ..self }
    }

    /// Attaches as a caller of the service that a server serves under this name.
    ///
    /// # Errors
    /// [`TimedOut`](ErrorKind::TimedOut) if no daemon was there in time, and [`Refused`](ErrorKind::Refused) with the reason if it does not
    /// take the application, or is of a user who is not [trusted](Self::users). The errors of the system.
    pub async fn client<S: Service>(&self, name: &str) -> Result<Client<S>, Error> {
        let entry = self.entry(Role::Caller, name, S::descriptors());
        Ok(Client::new(entry.first().await?, entry))
    }

    /// Attaches as the server of a service, under a name by which callers find it.
    ///
    /// # Errors
    /// The errors of [`client`](Self::client). The daemon refuses a name under which another application serves.
    pub async fn server<S: Service>(&self, name: &str) -> Result<Server<S>, Error> {
        let entry = self.entry(Role::Server, name, S::descriptors());
        Ok(Server::new(entry.first().await?, entry))
    }

    fn entry(&self, role: Role, service: &str, descriptors: &'static [u8]) -> Entry {
        Entry { way: self.clone(), role, service: service.into(), descriptors }
    }

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
