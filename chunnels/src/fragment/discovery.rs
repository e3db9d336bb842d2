//! The task that finds out what the path carries.

use super::path::{FLOOR, Path, Probe};
use super::piece;
use bertha_core::{Base, Buf, Connection, Error, ErrorKind, Runtime};
use futures_util::future::select;
use parking_lot::Mutex;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// What the task shares with the connection.
pub(super) struct Discovery {
    /// Locked for a look at a few words, never while waiting, and not for messages.
    path: Mutex<Path>,
    /// The same as the path's, for whoever sends.
    size: AtomicUsize,
    /// Whether a message was sent that a smaller path would not carry.
    is_used: AtomicBool,
    /// How many wait for messages, and so for word of probes.
    listening: AtomicUsize,
    /// What the layers below put in front of a message.
    below: usize,
    start: Instant,
    /// A probe arrived.
    word: Notify,
}

/// Somebody waits for messages.
pub(super) struct Listening<'a>(&'a AtomicUsize);

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Discovery {
    pub(super) fn new(most: usize, below: usize, runtime: &impl Runtime) -> Self {
        let path = Path::new(most, runtime.random() as u32);
        let (is_used, listening) = Default::default();
        let (size, start) = (AtomicUsize::new(path.size()), runtime.now());
        Self { path: Mutex::new(path), size, is_used, listening, below, start, word: Notify::new() }
    }

    /// The largest message to send, in bytes, with what the layers below put in front of it.
    pub(super) fn size(&self) -> usize {
        self.size.load(Relaxed)
    }

    /// A message of so many bytes is sent, in pieces or not.
    pub(super) fn sending(&self, len: usize) {
        if len > FLOOR {
            self.is_used.store(true, Relaxed);
        }
    }

    /// Says that somebody waits, until the result is dropped.
    pub(super) fn listen(&self) -> Listening<'_> {
        self.listening.fetch_add(1, Relaxed);
        Listening(&self.listening)
    }

    pub(super) fn arrived(&self, number: u32, runtime: &impl Runtime) {
        self.change(|path| path.arrived(number, self.since(runtime)));
        self.word.notify_one();
    }

    fn since(&self, runtime: &impl Runtime) -> Duration {
        runtime.now().saturating_duration_since(self.start)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Path) -> T) -> T {
        let mut path = self.path.lock();
        let changed = change(&mut path);
        self.size.store(path.size(), Relaxed);
        changed
    }

    /// Sends a probe. Whether the connection below goes on.
    async fn probe<C: Connection<Data = Buf>>(&self, inner: &C, Probe { number, size, .. }: Probe) -> bool {
        let sent = match piece::probe(number, size.saturating_sub(self.below), self.below) {
            Ok(probe) => inner.send(probe).await,
            Err(error) => Err(error),
        };
        match sent {
            Err(error) if error.kind() == ErrorKind::TooLarge => {
                let now = self.since(inner.base().runtime());
                self.change(|path| path.refused(number, now));
            }
            Err(error) if ends(&error) => return false,
            // It counts as lost, and is sent again.
            _ => {}
        }
        true
    }
}

fn ends(error: &Error) -> bool {
    !error.kind().may_pass()
}

/// Probes the path until the connection below ends.
pub(super) async fn run<Inner: Connection<Data = Buf>>(discovery: Arc<Discovery>, inner: Arc<Inner>) {
    let runtime = inner.base().runtime();
    loop {
        let now = discovery.since(runtime);
        let is_listening = discovery.listening.load(Relaxed) > 0;
        let (probe, timeout) = discovery.change(|path| {
            if discovery.is_used.swap(false, Relaxed) {
                path.used();
            }
            (path.poll(now, is_listening), path.timeout())
        });
        if let Some(probe) = probe
            && !discovery.probe(&*inner, probe).await
        {
            return;
        }
        let timeout = if probe.is_some() { discovery.path.lock().timeout() } else { timeout };
        let alarm = pin!(runtime.sleep_until(discovery.start + timeout));
        select(alarm, pin!(discovery.word.notified())).await;
    }
}
