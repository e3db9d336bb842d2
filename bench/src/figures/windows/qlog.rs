//! The window of a connection from its qlog.

use super::link::PACKET;
use crate::{Error, ErrorKind};
use bertha_chunnels::reliable::Qlog;
use serde_json::Value;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The measures from a moment on.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Measures {
    /// Time since the connection began.
    pub(super) at: Duration,
    /// The congestion window, in bytes.
    pub(super) window: u64,
    /// The smoothed round-trip time, in milliseconds.
    pub(super) rtt: f64,
}

/// The history of the measures of a connection.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct History {
    /// Size of a packet in bytes.
    packet: u64,
    /// The measures, each until the next.
    pub(super) measures: Vec<Measures>,
}

impl Default for History {
    fn default() -> Self {
        Self { packet: PACKET as u64, measures: Vec::new() }
    }
}

impl History {
    /// Takes in a record.
    ///
    /// # Errors
    /// An error of the parser.
    fn take(&mut self, record: &str) -> Result<(), serde_json::Error> {
        let record: Value = serde_json::from_str(record)?;
        let data = &record["data"];
        if let Some(packet) = data["max_datagram_size"].as_u64() {
            self.packet = packet.max(1);
        }
        let (window, rtt) = (data["congestion_window"].as_u64(), data["smoothed_rtt"].as_f64());
        if window.is_some() || rtt.is_some() {
            let before = self.measures.last().copied().unwrap_or_default();
            let nanos = record["time"].as_f64().unwrap_or_default() * 1e6;
            self.measures.push(Measures {
                at: Duration::from_nanos(nanos.round() as u64),
                window: window.unwrap_or(before.window),
                rtt: rtt.unwrap_or(before.rtt),
            });
        }
        Ok(())
    }

    /// Returns the window at a moment, in packets.
    pub(super) fn window_at(&self, at: Duration) -> f64 {
        let behind = self.measures.partition_point(|measures| measures.at <= at);
        behind.checked_sub(1).map_or(0.0, |last| self.in_packets(&self.measures[last]))
    }

    /// Returns a window in packets.
    pub(super) fn in_packets(&self, measures: &Measures) -> f64 {
        measures.window as f64 / self.packet as f64
    }

    /// Reads a file. A last record that is cut is left out: its process may have been killed, or still write.
    ///
    /// # Errors
    /// [`ErrorKind::Trace`] if the file can't be read, has a record that is no JSON, or no window.
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let doing = || format!("reading the qlog {}", path.display());
        let text = std::fs::read_to_string(path).map_err(Error::while_doing(ErrorKind::Trace, doing()))?;
        let mut history = Self::default();
        for record in text.split('\u{1e}').filter(|record| record.ends_with('\n')) {
            history.take(record).map_err(Error::while_doing(ErrorKind::Trace, doing()))?;
        }
        if history.measures.is_empty() {
            let what =
                format!("{} has no congestion window; a JSON text sequence is expected", path.display());
            return Err(Error::new(ErrorKind::Trace, what));
        }
        Ok(history)
    }
}

/// The history of a connection that is being made.
#[derive(Debug, Clone, Default)]
pub(super) struct Live(Arc<Mutex<History>>);

impl Live {
    /// Returns the setting that tells the history.
    pub(super) fn qlog(&self) -> Qlog {
        let history = self.0.clone();
        let qlog = Qlog::callback(move |_, record| {
            // The records of packets, which are the most, have no measures.
            if ["congestion_window", "max_datagram_size"].iter().any(|field| record.contains(field)) {
                let mut history = history.lock().unwrap_or_else(PoisonError::into_inner);
                // A record that is no JSON would be missing in the figure, and a test compares.
                let _ = history.take(record);
            }
        });
        qlog.limit(u64::MAX)
    }

    pub(super) fn history(&self) -> History {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_a_record_that_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sqlog");
        let event = |time: &str, data: &str| {
            format!("\u{1e}{{\"time\":{time},\"name\":\"x\",\"data\":{{{data}}}}}\n")
        };
        let text = event("0.0", "\"max_datagram_size\":100")
            + &event("1.5", "\"congestion_window\":1000,\"smoothed_rtt\":20.5")
            + &event("2.000001", "\"smoothed_rtt\":30")
            + &event("3.0", "\"congestion_window\":2000");
        std::fs::write(&path, text.clone() + "\u{1e}{\"time\":4.0,\"da").unwrap();
        let history = History::read(&path).unwrap();
        assert_eq!(history.measures.len(), 3);
        assert_eq!(
            history.measures[1],
            Measures { at: Duration::from_nanos(2_000_001), window: 1000, rtt: 30.0 }
        );
        let windows = [1, 2, 3, 4].map(|ms| history.window_at(Duration::from_millis(ms)));
        assert_eq!(windows, [0.0, 10.0, 20.0, 20.0]);
        for bad in ["\u{1e}no json\n", "", "{}"] {
            std::fs::write(&path, bad).unwrap();
            assert_eq!(History::read(&path).unwrap_err().kind(), ErrorKind::Trace);
        }
    }
}
