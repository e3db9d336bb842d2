//! The task that discovers the MTU of the path.

use super::path::{FLOOR, Path, Probe};
use super::{TARGET, piece};
use bertha_core::{Addr, Base, Buf, Connection, Error, ErrorKind, Runtime};
use futures_util::future::select;
use parking_lot::Mutex;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The state that the task shares with the connection.
pub(super) struct Discovery {
    /// Locked for a few words, never across an await, and not for messages.
    path: Mutex<Path>,
    /// A copy of the path's size for senders, which take no lock.
    size: AtomicUsize,
    /// True if a message larger than the floor was sent.
    is_used: AtomicBool,
    /// The number of `recv`s under way, which handle acknowledgements.
    receivers: AtomicUsize,
    /// The size of the headers of the layers below, in bytes.
    below: usize,
    start: Instant,
    /// The peer's address when the connection began, for events.
    peer: Addr,
    /// Notified when a probe was acknowledged.
    acked: Notify,
}

/// Counts a `recv` until it is dropped.
pub(super) struct Receiving<'a>(&'a AtomicUsize);

impl Drop for Receiving<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Discovery {
    pub(super) fn new(max: usize, below: usize, peer: Addr, runtime: &impl Runtime) -> Self {
        let path = Path::new(max, runtime.random() as u32);
        let (is_used, receivers) = Default::default();
        let size = AtomicUsize::new(path.size());
        let start = runtime.now();
        Self { path: Mutex::new(path), size, is_used, receivers, below, start, peer, acked: Notify::new() }
    }

    /// Returns the largest message to send, in bytes, with the headers of the layers below.
    pub(super) fn size(&self) -> usize {
        self.size.load(Relaxed)
    }

    /// Records that a message of `len` bytes is sent, in pieces or whole.
    pub(super) fn on_send(&self, len: usize) {
        if len > FLOOR {
            self.is_used.store(true, Relaxed);
        }
    }

    /// Records that a `recv` is under way, until the result is dropped.
    pub(super) fn on_recv(&self) -> Receiving<'_> {
        self.receivers.fetch_add(1, Relaxed);
        Receiving(&self.receivers)
    }

    pub(super) fn on_ack(&self, number: u32, runtime: &impl Runtime) {
        self.update(|path| path.on_ack(number, self.since(runtime)));
        self.acked.notify_one();
    }

    fn since(&self, runtime: &impl Runtime) -> Duration {
        runtime.now().saturating_duration_since(self.start)
    }

    fn update<T>(&self, update: impl FnOnce(&mut Path) -> T) -> T {
        let mut path = self.path.lock();
        let before = path.size();
        let result = update(&mut path);
        let size = path.size();
        self.size.store(size, Relaxed);
        drop(path);
        if size != before {
            self.tell(before, size);
        }
        result
    }

    /// Tells that the size has changed.
    #[cold]
    fn tell(&self, before: usize, size: usize) {
        let what = match size > before {
            true => "the path carries larger messages",
            false => "the path loses messages of the size in use, so they become shorter",
        };
        tracing::debug!(target: TARGET, peer = %self.peer, before, size, "{what}");
    }

    /// Sends a probe. Returns true if the connection below is still open.
    async fn probe<C: Connection<Data = Buf>>(&self, inner: &C, Probe { number, size, .. }: Probe) -> bool {
        let sent = match piece::probe(number, size.saturating_sub(self.below), self.below) {
            Ok(probe) => inner.send(probe).await,
            Err(error) => Err(error),
        };
        match sent {
            Err(error) if error.kind() == ErrorKind::TooLarge => {
                let now = self.since(inner.base().runtime());
                self.update(|path| path.on_too_large(number, now));
            }
            Err(error) if ends(&error) => return false,
            // The probe counts as lost, and is repeated.
            _ => {}
        }
        true
    }
}

fn ends(error: &Error) -> bool {
    error.ends_connection()
}

/// Probes the path until the connection below ends.
pub(super) async fn run<Inner: Connection<Data = Buf>>(discovery: Arc<Discovery>, inner: Arc<Inner>) {
    let runtime = inner.base().runtime();
    loop {
        let now = discovery.since(runtime);
        let is_receiving = discovery.receivers.load(Relaxed) > 0;
        let (probe, timeout) = discovery.update(|path| {
            if discovery.is_used.swap(false, Relaxed) {
                path.on_use();
            }
            (path.poll(now, is_receiving), path.timeout())
        });
        if let Some(probe) = probe
            && !discovery.probe(&*inner, probe).await
        {
            return;
        }
        let timeout = if probe.is_some() { discovery.path.lock().timeout() } else { timeout };
        let alarm = pin!(runtime.sleep_until(discovery.start + timeout));
        select(alarm, pin!(discovery.acked.notified())).await;
    }
}

#[cfg(test)]
mod tests {
    use super::super::piece::{Arrived, decode};
    use super::*;
    use bertha_datapath_sim::{Sim, pair};

    /// Runs discovery over a connection of at most 65,507 bytes, with 10 bytes of headers below, for this
    /// time. Returns the size, and the lengths of the probes that arrived.
    fn discovered(max: usize, seconds: u64, is_receiving: bool, answers: bool) -> (usize, Vec<usize>) {
        let mut sim = Sim::new(1);
        let runtime = sim.runtime();
        let (here, there) = pair(sim.runtime());
        let discovery = Arc::new(Discovery::new(max, 10, Addr::Unnamed, &runtime));
        let mut probes = Vec::new();
        sim.run(async {
            let _receiving = is_receiving.then(|| discovery.on_recv());
            let answering = async {
                loop {
                    let probe = there.recv().await.unwrap();
                    probes.push(probe.len());
                    let Some(Arrived::Probe(number)) = decode(probe) else { panic!("no probe") };
                    if answers {
                        discovery.on_ack(number, &runtime);
                    }
                }
            };
            let running = async {
                select(pin!(run(discovery.clone(), Arc::new(here))), pin!(answering)).await;
            };
            select(pin!(running), pin!(runtime.sleep(Duration::from_secs(seconds)))).await;
        });
        assert_eq!(discovery.receivers.load(Relaxed), 0);
        (discovery.size(), probes)
    }

    #[test]
    fn sizes_that_are_acknowledged_are_used_and_refused_ones_cost_no_time() {
        assert_eq!(
            discovered(1_400, 1, true, true),
            (1_400, [1_200, 1_232, 1_392, 1_400].map(|it| it - 10).into())
        );
        let (size, probes) = discovered(65_600, 1, true, true);
        assert!(size > 63_000 && size <= 65_517, "{size} after {probes:?}");
    }

    #[test]
    fn probes_are_lost_only_while_a_call_receives() {
        assert_eq!(discovered(1_400, 20, false, false), (1_200, vec![1_190]));
        let (size, probes) = discovered(1_400, 20, true, false);
        assert_eq!((size, &probes[..4]), (FLOOR, &[1_190, 1_190, 1_190, FLOOR - 10][..]));
    }

    #[test]
    fn a_message_larger_than_the_floor_uses_the_size() {
        let sim = Sim::new(1);
        let discovery = Discovery::new(1_400, 0, Addr::Unnamed, &sim.runtime());
        discovery.on_send(FLOOR);
        assert!(!discovery.is_used.load(Relaxed));
        discovery.on_send(FLOOR + 1);
        assert!(discovery.is_used.load(Relaxed));
    }

    #[test]
    fn probing_ends_with_the_connection() {
        let mut sim = Sim::new(1);
        let runtime = sim.runtime();
        let (here, there) = pair(sim.runtime());
        drop(there);
        let discovery = Arc::new(Discovery::new(1_400, 0, Addr::Unnamed, &runtime));
        sim.run(run(discovery, Arc::new(here)));
    }
}
