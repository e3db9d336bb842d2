//! The history of a participant, one JSON object a line.

use bertha_core::{Error, ErrorKind};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::io::Write;
use tokio::sync::mpsc;

/// One line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Line {
    /// When, in nanoseconds of the host's monotonic clock.
    pub(crate) at: u64,
    /// The participant that it happened to.
    pub(crate) participant: u32,
    /// The event.
    #[serde(flatten)]
    pub(crate) what: What,
}

/// An event.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum What {
    /// It is in, uses this stack, and may be the one that leads the round.
    Joined { round: u64, stack: String, leads: bool },
    /// It sends through this stack from now on.
    Changed { round: u64, stack: String, leads: bool },
    /// There are so many participants.
    Participants { count: usize },
    /// It is about to send this message.
    Sending { number: u32 },
    /// It has sent this message, or failed to.
    Sent { number: u32, error: Option<String> },
    /// It has received a message, which was sent at this time.
    Received {
        publisher: u32,
        number: u32,
        /// Messages of one publisher and group stay in order.
        #[serde(default)]
        group: u8,
        sent: u64,
    },
    /// Its upgrade was refused.
    Refused { reason: String },
    /// It has left.
    Left,
}

/// The host's monotonic clock, in nanoseconds: the same for all processes.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

impl Line {
    /// Something that happens now.
    fn new(participant: u32, what: What) -> Self {
        Self { at: now(), participant, what }
    }

    /// Writes it to the standard output at once, so that a kill cuts no more than a line.
    fn print(&self) -> Result<(), Error> {
        let mut text =
            serde_json::to_string(self).map_err(|error| Error::new(ErrorKind::Invalid, error.to_string()))?;
        text.push('\n');
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    }
}

/// Where a participant's history goes.
#[derive(Debug, Clone)]
pub(crate) enum Journal {
    /// To the standard output, one JSON object a line.
    Printed,
    /// To the scenario that runs in the same process.
    Kept(mpsc::Sender<Line>),
}

impl Journal {
    /// Takes note of something that happens now.
    ///
    /// # Errors
    /// If standard output is closed, or the scenario is far behind.
    pub(crate) fn note(&self, participant: u32, what: What) -> Result<(), Error> {
        let line = Line::new(participant, what);
        match self {
            Self::Printed => line.print(),
            Self::Kept(lines) => lines.try_send(line).map_err(|_| {
                Error::new(ErrorKind::Exhausted, "the scenario does not read the history of its participants")
            }),
        }
    }
}

/// The lines of a history; a last line that was cut short by a kill is left out.
///
/// # Errors
/// [`Malformed`](ErrorKind::Malformed), with the number of the line.
pub(crate) fn parse(text: &str) -> Result<Vec<Line>, Error> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let lines = whole.lines().enumerate().map(|(number, line)| {
        serde_json::from_str(line)
            .map_err(|error| Error::new(ErrorKind::Malformed, format!("line {}: {error}", number + 1)))
    });
    lines.collect()
}
