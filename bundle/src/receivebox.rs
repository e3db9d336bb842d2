//! The box at the receivers' site.

use crate::Header;
use crate::epoch::EpochSize;
use crate::message::{Acknowledgement, MESSAGE, Malformed, Resize};
use crate::startup::Startup;
use std::time::Duration;

/// The box at the receivers' site: counts the bundle's packets, and acknowledges boundaries.
///
/// Its state has a fixed size, for any number of flows and packets. It sends at most a message for each
/// packet. Until the sendbox has told its size of epochs, each of a second's first 64 packets gets a message, and ever fewer of
/// the packets behind them.
#[derive(Debug)]
pub struct Receivebox {
    key: u64,
    instance: u32,
    size: EpochSize,
    /// `None` since the sendbox has spoken.
    startup: Option<Startup>,
    received: u64,
    statistics: ReceiveboxStatistics,
}

/// The counts of a [`Receivebox`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceiveboxStatistics {
    /// Number of packets of the bundle.
    pub packets: u64,
    /// Number of their bytes.
    pub bytes: u64,
    /// Number of packets without an identity, which are never boundaries.
    pub unnamed: u64,
    /// Number of acknowledgements.
    pub acknowledgements: u64,
    /// Number of messages of the sendbox.
    pub resizes: u64,
    /// Number of malformed messages, and of messages of a box with another key.
    pub malformed: u64,
    /// Number of packets with an identity in an epoch, on average.
    pub epoch: u64,
}

impl Receivebox {
    /// Creates a box. Its `key` is that of the sendbox; `instance` is a number that differs for each start of
    /// the box, random for instance.
    pub fn new(key: u64, instance: u32) -> Self {
        let statistics = ReceiveboxStatistics::default();
        let startup = Some(Startup::default());
        Self { key, instance, size: EpochSize::default(), startup, received: 0, statistics }
    }

    /// Counts a packet of the bundle that came at `now`; the packet goes on in any case. A returned message is for the
    /// sendbox; if it gets lost, the next one tells as much.
    pub fn on_packet(&mut self, now: Duration, header: &Header) -> Option<[u8; MESSAGE]> {
        self.received = self.received.wrapping_add(u64::from(header.len));
        self.statistics.packets += 1;
        let Some(hash) = header.hash(self.key) else {
            self.statistics.unnamed += 1;
            return None;
        };
        if let Some(startup) = &mut self.startup {
            self.size = startup.size(now);
        }
        if !self.size.divides(hash) {
            return None;
        }
        if let Some(startup) = &mut self.startup {
            startup.on_acknowledgement();
        }
        self.statistics.acknowledgements += 1;
        let Self { size, instance, received, .. } = *self;
        Some(Acknowledgement { size, instance, hash, received }.encode())
    }

    /// Takes a message of the sendbox.
    ///
    /// # Errors
    /// [`Malformed`] if it is none; the box then goes on as before.
    pub fn on_message(&mut self, message: &[u8]) -> Result<(), Malformed> {
        let resize = Resize::decode(message, self.key);
        match resize {
            Ok(_) => self.statistics.resizes += 1,
            Err(_) => self.statistics.malformed += 1,
        }
        self.size = resize?.size;
        self.startup = None;
        Ok(())
    }

    /// Returns the counts so far.
    pub fn statistics(&self) -> ReceiveboxStatistics {
        ReceiveboxStatistics { bytes: self.received, epoch: 1 << self.size.exponent(), ..self.statistics }
    }
}
