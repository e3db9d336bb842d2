//! Errors that the kernel reports to a connected socket without making it readable.

use super::Source;
use super::endpoint::Endpoint;
use super::io::Io;
use parking_lot::Mutex;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

/// Waits for errors on behalf of all receptions of a socket, and wakes the one that leads.
///
/// A reception that registered for errors itself, beside readability, would pay for that each time it waits, and errors
/// are rare. So one registration stands as long as the socket does, and a reception only looks at a flag.
pub(super) struct Alarm<S: Source> {
    bell: Arc<Bell<S>>,
    /// Ready with the next error. Polled, and so locked, only when the bell has rung.
    failure: Mutex<Failure>,
}

type Failure = Pin<Box<dyn Future<Output = io::Error> + Send>>;

struct Bell<S: Source> {
    rung: AtomicBool,
    endpoint: Weak<Endpoint<S>>,
}

impl<S: Source> Alarm<S> {
    pub(super) fn new(endpoint: &Arc<Endpoint<S>>) -> Self {
        // So that the first reception that waits registers.
        let bell = Bell { rung: AtomicBool::new(true), endpoint: Arc::downgrade(endpoint) };
        Self { bell: Arc::new(bell), failure: Mutex::new(failure(&endpoint.socket)) }
    }

    /// The error that was reported, if one was. To be called after the caller has begun to wait: whoever leads then is
    /// woken by the next.
    #[inline]
    pub(super) fn poll(&self, socket: &Arc<S>) -> Poll<io::Error> {
        if self.bell.rung.load(Ordering::Acquire) { self.listen(socket) } else { Poll::Pending }
    }

    #[cold]
    fn listen(&self, socket: &Arc<S>) -> Poll<io::Error> {
        let mut next = self.failure.lock();
        self.bell.rung.store(false, Ordering::Relaxed);
        let waker = Waker::from(self.bell.clone());
        let polled = next.as_mut().poll(&mut Context::from_waker(&waker));
        if polled.is_ready() {
            *next = failure(socket);
            self.bell.rung.store(true, Ordering::Relaxed);
        }
        polled
    }
}

fn failure<S: Source>(socket: &Arc<S>) -> Failure {
    let socket = socket.clone();
    Box::pin(async move { socket.io().failed().await })
}

impl<S: Source> Wake for Bell<S> {
    fn wake(self: Arc<Self>) {
        // Before the lock: a reception that begins to lead later sees it, one that leads already is woken.
        self.rung.store(true, Ordering::Release);
        let Some(endpoint) = self.endpoint.upgrade() else { return };
        let leader = endpoint.demux.lock().leader();
        leader.into_iter().for_each(Waker::wake);
    }
}
