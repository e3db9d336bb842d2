//! Attaching to the daemon.

use super::entry::Entry;
use super::way::Way;
use super::{Client, Server};
use crate::attach::Role;
use crate::method;
use crate::method::Service;
use bertha_core::Error;
use bertha_datapath_shm::{Users, Waiting};
use std::path::Path;
use std::time::Duration;

/// The way to the daemon of the machine.
///
/// A daemon that is not there yet is waited for. When a daemon has ended, clients and servers attach again to the next one, by themselves.
#[derive(Debug, Clone)]
pub struct Attach {
    way: Way,
}

impl Attach {
    /// Creates the way to the daemon that listens at this path, for an application of this name.
    pub fn new(path: impl AsRef<Path>, application: &str) -> Self {
        let way = Way {
            path: path.as_ref().into(),
            application: application.into(),
            within: Duration::from_secs(10),
            waiting: Waiting::Park,
            users: Users::Same,
            heap: 256 << 20,
        };
        Self { way }
    }

    /// Sets the time within which the daemon has to be there and to take the application at first: ten seconds by default. A daemon that has
    /// ended is waited for without end.
    #[must_use]
    pub fn within(self, within: Duration) -> Self {
        Self { way: Way { within, ..self.way } }
    }

    /// Sets the policy by which receivers wait: [`Park`](Waiting::Park) by default.
    #[must_use]
    pub fn waiting(self, waiting: Waiting) -> Self {
        Self { way: Way { waiting, ..self.way } }
    }

    /// Sets the users whose daemons the application trusts: [its own and root](Users::Same) by default. The memory that a daemon lends is read
    /// as it is.
    #[must_use]
    pub fn users(self, users: Users) -> Self {
        Self { way: Way { users, ..self.way } }
    }

    /// Sets the number of bytes up to which each heap grows: 256 MiB by default. The daemon may grant fewer.
    #[must_use]
    pub fn heap(self, bytes: usize) -> Self {
        Self { way: Way { heap: bytes, ..self.way } }
    }

    /// Attaches as a caller of the service that a server serves under this name.
    ///
    /// # Errors
    /// [`TimedOut`](bertha_core::ErrorKind::TimedOut) if no daemon was there in time, and [`Refused`](bertha_core::ErrorKind::Refused) with the reason if it does not
    /// take the application, or is of a user who is not [trusted](Self::users). [`Invalid`](bertha_core::ErrorKind::Invalid) if a type of the service does
    /// not suit its schema. The errors of the system.
    pub async fn client<S: Service>(&self, name: &str) -> Result<Client<S>, Error> {
        method::check::<S>()?;
        let entry = self.entry(Role::Caller, name, S::descriptors());
        Ok(Client::new(entry.first().await?, entry))
    }

    /// Attaches as the server of a service, under a name by which callers find it.
    ///
    /// # Errors
    /// The errors of [`client`](Self::client). The daemon refuses a name under which another application serves.
    pub async fn server<S: Service>(&self, name: &str) -> Result<Server<S>, Error> {
        method::check::<S>()?;
        let entry = self.entry(Role::Server, name, S::descriptors());
        Ok(Server::new(entry.first().await?, entry))
    }

    fn entry(&self, role: Role, service: &str, descriptors: &'static [u8]) -> Entry {
        Entry { way: self.way.clone(), role, service: service.into(), descriptors }
    }
}
