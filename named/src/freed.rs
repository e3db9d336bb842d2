//! The moment at which a listener has given its address back.

use parking_lot::Mutex;
use std::convert::Infallible;
use std::fmt;
use std::sync::mpsc;
use std::time::Duration;

/// Longest time for which the end of a listener is waited for.
const LONGEST: Duration = Duration::from_secs(1);

/// The wait of a program that closes a listener until the address is free.
///
/// A task that accepts the clients ends some time after it was told to, and has the socket until then: a program that listened again at once
/// would find the address in use.
pub struct Freed(Mutex<mpsc::Receiver<Infallible>>);

/// The use of an address by the work that accepts clients.
pub struct InUse {
    /// Its drop is what tells.
    _freed: mpsc::Sender<Infallible>,
}

impl Freed {
    /// Returns the use of an address, and the wait for its end.
    pub fn after_use() -> (InUse, Self) {
        let (in_use, freed) = mpsc::channel();
        (InUse { _freed: in_use }, Self(Mutex::new(freed)))
    }

    /// Waits until the work that uses the address has ended, and the listener in it: for a second at most, since a task may hang in a poll. The
    /// thread sleeps, so that this is for callers outside of a runtime.
    pub fn wait(&self) {
        // The channel carries nothing: it ends.
        let _ended = self.0.lock().recv_timeout(LONGEST);
    }
}

impl InUse {
    /// Returns the work for a task, by which the address is in use until the work is done or dropped, also before it has begun.
    pub fn by<F: Future>(self, accepting: F) -> impl Future<Output = F::Output> {
        // Fields are dropped in their order: the work, and then what tells of its end.
        let held = (accepting, self);
        async move {
            let (accepting, _in_use) = held;
            accepting.await
        }
    }
}

impl fmt::Debug for InUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InUse").finish_non_exhaustive()
    }
}

impl fmt::Debug for Freed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Freed").finish_non_exhaustive()
    }
}
