//! The requests of threads outside of the runtime, which may not call Caladan.

use parking_lot::Mutex;
use std::mem::take;
use std::time::Duration;

/// Time within which the runtime notices a request: Caladan can't be notified.
pub(crate) const LATE: Duration = Duration::from_millis(10);

type Action = Box<dyn FnOnce() + Send>;

/// Requests that were not served yet. The list is no longer than the number of parked and unbegun tasks, and
/// of sockets: each has at most one request here.
static ACTIONS: Mutex<Vec<Action>> = Mutex::new(Vec::new());

/// Calls `action` on a thread of the runtime: at once if the caller is such a thread, otherwise within
/// [`LATE`].
pub(crate) fn on_caladan(action: impl FnOnce() + Send + 'static) {
    if super::on_caladan() {
        action();
    } else {
        ACTIONS.lock().push(Box::new(action));
    }
}

/// Serves all requests of other threads, and returns their number. The caller must be a thread of the
/// runtime.
pub(crate) fn serve() -> usize {
    let actions = take(&mut *ACTIONS.lock());
    let count = actions.len();
    actions.into_iter().for_each(|action| action());
    count
}
