//! The wishes of other threads, which may not call Caladan.

use parking_lot::Mutex;
use std::mem::take;
use std::time::Duration;

/// How late the runtime may notice a wish: Caladan has no way to be told of one.
pub(crate) const LATE: Duration = Duration::from_millis(10);

type Action = Box<dyn FnOnce() + Send>;

/// No longer than there are tasks that are parked or yet to begin, and sockets: each has one wish here at most.
static ACTIONS: Mutex<Vec<Action>> = Mutex::new(Vec::new());

/// Calls `action` on a thread of the runtime: at once if this is one, else within [`LATE`].
pub(crate) fn on_caladan(action: impl FnOnce() + Send + 'static) {
    if super::on_caladan() {
        action();
    } else {
        ACTIONS.lock().push(Box::new(action));
    }
}

/// Does all that other threads wish, and returns how much that was. By threads of the runtime.
pub(crate) fn serve() -> usize {
    let actions = take(&mut *ACTIONS.lock());
    let count = actions.len();
    actions.into_iter().for_each(|action| action());
    count
}
