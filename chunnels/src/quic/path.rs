//! A path to the peer: a connection below, and the packets that wait for it.

use super::TARGET;
use bertha_core::{Base, Buf, Connection, DropCounter, Error, Runtime, debug_fields};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::Waker;
use std::time::Duration;
use tokio::sync::Notify;

/// Maximum number of packets that wait in each direction.
pub(super) const QUEUE: usize = 1024;

/// Maximum number of packets that `quinn` sends in one call.
pub(super) const SEGMENTS: usize = 32;

/// Pause after a temporary error of the connection below.
pub(super) const PAUSE: Duration = Duration::from_millis(1);

/// A path to the peer.
pub(super) struct Path<Inner> {
    pub(super) inner: Inner,
    /// The port that stands for the path in `quinn`.
    pub(super) port: u16,
    pub(super) outgoing: Mutex<Outgoing>,
    /// Notified when there is a packet to send.
    pub(super) to_send: Notify,
    /// True if the connection below has ended.
    has_ended: AtomicBool,
}

#[derive(Default)]
pub(super) struct Outgoing {
    pub(super) packets: VecDeque<Buf>,
    /// Tasks that wait for capacity.
    pub(super) waiting: Vec<Waker>,
}

impl Outgoing {
    pub(super) fn is_full(&self) -> bool {
        self.packets.len() + SEGMENTS > QUEUE
    }

    pub(super) fn wake(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }
}

impl<Inner: Connection<Data = Buf>> Path<Inner> {
    pub(super) fn new(inner: Inner, port: u16) -> Self {
        Self {
            inner,
            port,
            outgoing: Mutex::default(),
            to_send: Notify::new(),
            has_ended: AtomicBool::new(false),
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        // Relaxed: no other data depends on the flag.
        self.has_ended.load(Relaxed)
    }

    /// Handles that the connection below has ended.
    pub(super) fn end(&self) {
        self.has_ended.store(true, Relaxed);
        self.outgoing.lock().wake();
    }

    /// Sends the packets that wait until the connection below ends. `not_sent` counts the bursts that it refused, and survived.
    pub(super) async fn send(&self, not_sent: &DropCounter) -> Error {
        loop {
            let packets = std::iter::from_fn(|| self.outgoing.lock().packets.pop_front());
            match self.inner.send_batch(packets).await {
                Ok(()) => {}
                // The packets are lost, and repeated by QUIC.
                Err(error) if !error.ends_connection() => {
                    tracing::debug!(target: TARGET, peer = %self.inner.base().peer_addr(), %error, "packets were not sent");
                    not_sent.add(1);
                    self.pause().await;
                }
                Err(error) => return error,
            }
            let has_more = {
                let mut outgoing = self.outgoing.lock();
                outgoing.wake();
                !outgoing.packets.is_empty()
            };
            // A burst that was refused leaves packets behind, whose notification was taken.
            if !has_more {
                self.to_send.notified().await;
            }
        }
    }

    pub(super) async fn pause(&self) {
        let runtime = self.inner.base().runtime();
        runtime.sleep_until(runtime.now() + PAUSE).await;
    }
}

debug_fields!(Path<Inner> { port });
