//! The destination of a participant's events.

use crate::event_counts::EventCounts;
use crate::history::{Line, What};
use bertha_core::{Error, ErrorKind};
use tokio::sync::mpsc;

/// The destination of a participant's history.
#[derive(Debug, Clone)]
pub(crate) enum Journal {
    /// The standard output, a JSON object per line. The events are counted.
    Printed(EventCounts),
    /// The scenario that runs in this process.
    Kept(mpsc::Sender<Line>),
}

impl Journal {
    /// Records an event that happens now.
    ///
    /// # Errors
    /// Fails if standard output is closed, or the scenario is far behind.
    pub(crate) fn note(&self, participant: u32, what: What) -> Result<(), Error> {
        let line = Line::new(participant, what);
        match self {
            Self::Printed(counts) => {
                counts.count(&line.what);
                line.print()
            }
            Self::Kept(lines) => lines.try_send(line).map_err(|_| {
                Error::new(ErrorKind::Exhausted, "the scenario does not read the history of its participants")
            }),
        }
    }
}
