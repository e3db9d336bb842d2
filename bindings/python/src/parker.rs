//! Waiting in the calling thread, so that signals end the wait.

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{read, write};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::Wake;
use std::time::Duration;

thread_local! {
    static PARKER: Result<Arc<Parker>, io::ErrorKind> = Parker::new();
}

/// The descriptor on which a thread waits. Unlike a condition variable, a signal ends the wait.
#[derive(Debug)]
pub(crate) struct Parker(OwnedFd);

impl Parker {
    fn new() -> Result<Arc<Self>, io::ErrorKind> {
        match eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK) {
            Ok(descriptor) => Ok(Arc::new(Self(descriptor))),
            Err(error) => Err(io::Error::from(error).kind()),
        }
    }

    /// Returns the parker of this thread.
    ///
    /// # Errors
    /// Errors of the system, which has no descriptor.
    pub(crate) fn of_thread() -> io::Result<Arc<Self>> {
        PARKER.with(|parker| parker.clone().map_err(io::Error::from))
    }

    /// Waits until the parker is woken, a signal comes or the time is up.
    pub(crate) fn park(&self, most: Duration) {
        let most = Timespec {
            tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(most.subsec_nanos()),
        };
        // An error ends the wait as well, and the caller looks again.
        let _ = poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&most));
        let _ = read(&self.0, &mut [0_u8; 8]);
    }
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        // The counter is far from its bound.
        let _ = write(&self.0, &1_u64.to_ne_bytes());
    }
}
