//! The settings of an emulated path.

use super::Rate;
use std::time::Duration;

/// A direction of a path: a buffer, a link, and the way behind it.
#[derive(Debug, Clone)]
pub struct Path {
    /// Rate at which the link sends.
    pub rate: Rate,
    /// Time that every packet takes in addition: the propagation delay.
    pub delay: Duration,
    /// Largest number of waiting bytes, including the packet that is being sent. A packet that finds no room
    /// is dropped (drop-tail).
    pub buffer: u64,
    /// Probability with which a packet is lost behind the link, from 0 to 1.
    pub loss: f64,
    /// Number of waiting bytes above which an arriving packet is marked for congestion; `None` for a link
    /// that never marks.
    pub marks_above: Option<u64>,
}

impl Path {
    /// Creates a path without loss and marks, with a buffer of a bandwidth-delay product: the mean rate times
    /// twice the delay.
    pub fn new(rate: Rate, delay: Duration) -> Self {
        Self { rate, delay, buffer: 0, loss: 0.0, marks_above: None }.buffered(1.0)
    }

    /// Sets the buffer to so many bandwidth-delay products.
    #[must_use]
    pub fn buffered(self, products: f64) -> Self {
        let buffer = (products * self.product()) as u64;
        Self { buffer, ..self }
    }

    /// Returns the bandwidth-delay product in bytes: the mean rate times twice the delay, for a way back of
    /// equal length.
    pub fn product(&self) -> f64 {
        self.rate.mean() * 2.0 * self.delay.as_secs_f64()
    }
}
