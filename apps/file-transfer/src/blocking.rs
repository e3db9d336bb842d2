//! Blocking calls, which are calls on files.

use std::panic::resume_unwind;
use tokio::runtime::Handle;

/// Runs `action`, which may block. On tokio it runs in a thread for such calls, and goes on if the future is
/// dropped.
///
/// On another runtime it runs in place. Such a runtime may notice other threads' work late (Caladan's does
/// after up to 10 ms), and most actions here are copies to or from the page cache.
pub(crate) async fn blocking<T: Send + 'static>(action: impl FnOnce() -> T + Send + 'static) -> T {
    let Ok(tokio) = Handle::try_current() else { return action() };
    match tokio.spawn_blocking(action).await.map_err(|error| error.try_into_panic()) {
        Ok(output) => output,
        Err(Ok(panic)) => resume_unwind(panic),
        // The runtime is about to end, and this task with it.
        Err(Err(_)) => std::future::pending().await,
    }
}
