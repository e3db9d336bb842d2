//! The words of an application about itself, to each daemon to which it attaches.

use super::control::{self, Control};
use super::grants::Grants;
use super::link::Link;
use super::way::{Way, connect, is_absence};
use crate::attach::{Hello, Role};
use bertha_core::{Error, ErrorKind};
use bertha_datapath_shm::heap::{Heap, Received};
use bertha_datapath_shm::{Shm, Users};
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Bytes of the queue in each direction, room for some hundred descriptors. What does not fit waits at the daemon, where parties have turns:
/// behind a longer queue, a call would wait for all that another party has put there before.
const QUEUE: usize = 8 << 10;

/// Time that a daemon has to take an application again.
const TAKEN: Duration = Duration::from_secs(10);

/// An application at the daemon of its machine.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) way: Way,
    pub(super) role: Role,
    pub(super) service: String,
    pub(super) descriptors: &'static [u8],
}

/// The reason why an application is not attached.
#[derive(Debug)]
pub(super) enum NotAttached {
    /// No daemon is there.
    Absent,
    /// A daemon is there and takes the application not, or the system does not let it.
    Refused(Error),
}

impl Entry {
    /// Attaches for the first time, and waits for the daemon.
    pub(super) async fn first(&self) -> Result<Arc<Link>, Error> {
        let until = Instant::now() + self.way.within;
        let socket = self.way.find(until).await?;
        self.open(socket, until).await
    }

    /// Attaches to the daemon that is there now.
    pub(super) async fn now(&self) -> Result<Arc<Link>, NotAttached> {
        let socket = connect(&self.way.path).await.map_err(|error| match is_absence(&error) {
            true => NotAttached::Absent,
            false => NotAttached::Refused(self.way.refused(error)),
        })?;
        self.open(socket, Instant::now() + TAKEN).await.map_err(|error| match error.kind() {
            // The daemon has ended meanwhile, or stands still.
            ErrorKind::Closed | ErrorKind::Reset | ErrorKind::TimedOut => NotAttached::Absent,
            _ => NotAttached::Refused(error),
        })
    }

    async fn open(&self, socket: UnixStream, until: Instant) -> Result<Arc<Link>, Error> {
        let Self { way, role, service, descriptors } = self;
        way.check(&socket)?;
        let received = Received::new(way.heap)?;
        let grants = Grants::default();
        let heap = Heap::new(way.heap, grants.clone())?;
        let hello = control::hello(&Hello {
            role: *role,
            application: way.application.clone(),
            service: service.clone(),
            send_heap: heap.base(),
            receive_heap: received.base(),
            descriptors: descriptors.to_vec(),
        })?;
        // The daemon's answer is waited for by a thread, as later answers are, whose callers may be in no runtime.
        let open = tokio::task::spawn_blocking(move || Control::open(socket, &hello, received));
        let opened = timeout_at(until, open).await.map_err(|_| way.late())?;
        let (control, queue) = opened.map_err(io::Error::other)?.map_err(|error| way.refused(error))?;
        let control = Arc::new(control);
        grants.come_from(&control);
        // The daemon's user was checked.
        let queue = Shm::new().ring(QUEUE).users(Users::Any).waiting(way.waiting).offer(queue).await?;
        Ok(Link::new(queue, heap, control))
    }
}
