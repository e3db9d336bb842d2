//! Errors that the kernel reports to a connected socket without making it readable.

use super::{Endpoint, ReceivingSocket};
use crate::async_socket::AsyncSocket;
use parking_lot::Mutex;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

/// Waits for errors on behalf of all receiving calls of a socket, and wakes the one that polls.
///
/// A call that registered for errors itself, beside readability, would pay for the registration each time it
/// waits, and errors are rare. So a single registration lasts as long as the socket, and a call only looks at
/// a flag.
pub(super) struct ErrorWatch<S: ReceivingSocket> {
    signal: Arc<Signal<S>>,
    /// A future that is ready with the next error. It is polled, and so locked, only when the signal is set.
    failure: Mutex<Failure>,
}

type Failure = Pin<Box<dyn Future<Output = io::Error> + Send>>;

struct Signal<S: ReceivingSocket> {
    is_set: AtomicBool,
    endpoint: Weak<Endpoint<S>>,
}

impl<S: ReceivingSocket> ErrorWatch<S> {
    pub(super) fn new(endpoint: &Arc<Endpoint<S>>) -> Self {
        // The signal is set at first, so that the first waiting call registers.
        let signal = Signal { is_set: AtomicBool::new(true), endpoint: Arc::downgrade(endpoint) };
        Self { signal: Arc::new(signal), failure: Mutex::new(failure(&endpoint.socket)) }
    }

    /// Returns the reported error, if there is one. The caller must have begun to wait: the next error then
    /// wakes the polling future.
    #[inline]
    pub(super) fn poll(&self, socket: &Arc<S>) -> Poll<io::Error> {
        if self.signal.is_set.load(Ordering::Acquire) { self.listen(socket) } else { Poll::Pending }
    }

    #[cold]
    fn listen(&self, socket: &Arc<S>) -> Poll<io::Error> {
        let mut next = self.failure.lock();
        self.signal.is_set.store(false, Ordering::Relaxed);
        let waker = Waker::from(self.signal.clone());
        let polled = next.as_mut().poll(&mut Context::from_waker(&waker));
        if polled.is_ready() {
            socket.on_error();
            *next = failure(socket);
            self.signal.is_set.store(true, Ordering::Relaxed);
        }
        polled
    }
}

fn failure<S: ReceivingSocket>(socket: &Arc<S>) -> Failure {
    let socket = socket.clone();
    Box::pin(async move { socket.socket().error().await })
}

impl<S: ReceivingSocket> Wake for Signal<S> {
    fn wake(self: Arc<Self>) {
        // The flag is set before the lock is taken: a future that becomes the poller later sees it, and the
        // present poller is woken.
        self.is_set.store(true, Ordering::Release);
        let Some(endpoint) = self.endpoint.upgrade() else { return };
        let poller = endpoint.state.lock().demux.poller();
        poller.into_iter().for_each(Waker::wake);
    }
}
