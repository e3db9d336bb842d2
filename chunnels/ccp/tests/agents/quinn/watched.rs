//! An observer of the packets that `quinn` sends.

use quinn::congestion::{Controller, ControllerFactory, ControllerMetrics};
use quinn_proto::RttEstimator;
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// The largest number of bytes in flight under each window.
#[derive(Debug, Default)]
pub(super) struct Most(Mutex<BTreeMap<u64, u64>>);

impl Most {
    /// Returns the largest number of bytes in flight while `window` was the window.
    pub(super) fn in_flight(&self, window: u64) -> u64 {
        self.0.lock().unwrap().get(&window).copied().unwrap_or_default()
    }
}

/// Controls that are observed.
pub(super) struct Watched {
    inner: Arc<dyn ControllerFactory + Send + Sync>,
    most: Arc<Most>,
}

impl Watched {
    pub(super) fn new(inner: Arc<dyn ControllerFactory + Send + Sync>, most: Arc<Most>) -> Self {
        Self { inner, most }
    }
}

impl ControllerFactory for Watched {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let inner = self.inner.clone().build(now, mtu);
        Box::new(Watch { inner, in_flight: 0, most: self.most.clone() })
    }
}

struct Watch {
    inner: Box<dyn Controller>,
    in_flight: u64,
    most: Arc<Most>,
}

impl Controller for Watch {
    fn on_sent(&mut self, now: Instant, bytes: u64, last: u64) {
        self.in_flight += bytes;
        let mut most = self.most.0.lock().unwrap();
        let under = most.entry(self.inner.window()).or_default();
        *under = self.in_flight.max(*under);
        drop(most);
        self.inner.on_sent(now, bytes, last);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, limited: bool, rtt: &RttEstimator) {
        self.inner.on_ack(now, sent, bytes, limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, limited: bool, largest: Option<u64>) {
        self.in_flight = in_flight;
        self.inner.on_end_acks(now, in_flight, limited, largest);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost: u64) {
        self.in_flight = self.in_flight.saturating_sub(lost);
        self.inner.on_congestion_event(now, sent, is_persistent, lost);
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.inner.on_mtu_update(mtu);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { inner: self.inner.clone_box(), in_flight: 0, most: self.most.clone() })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
