//! The history of a participant, a JSON object per line.

use bertha_core::{Error, ErrorKind};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::io::Write;

/// A line of the history.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Line {
    /// Time in nanoseconds of the host's monotonic clock.
    pub(crate) at: u64,
    /// The participant of the event.
    pub(crate) participant: u32,
    /// The event.
    #[serde(flatten)]
    pub(crate) what: What,
}

/// An event.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum What {
    /// The participant has joined, uses this stack, and may be the leader of the round.
    Joined { round: u64, stack: String, leads: bool },
    /// The participant sends through this stack from now on.
    Changed { round: u64, stack: String, leads: bool },
    /// The number of participants is `count`.
    Participants { count: usize },
    /// The participant is about to send this message.
    Sending { number: u32 },
    /// The participant has sent this message, or failed to.
    Sent { number: u32, error: Option<String> },
    /// The participant has received a message, which was sent at this time.
    Received {
        publisher: u32,
        number: u32,
        /// Group of the message. The messages of a publisher and group stay in order.
        #[serde(default)]
        group: u8,
        sent: u64,
    },
    /// The participant's upgrade was refused.
    Refused { reason: String },
    /// The participant has left.
    Left,
}

/// Returns the host's monotonic clock, in nanoseconds, which is common to all processes.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

impl Line {
    /// Creates the line of an event that happens now.
    pub(crate) fn new(participant: u32, what: What) -> Self {
        Self { at: now(), participant, what }
    }

    /// Writes the line to the standard output at once, so that a kill cuts at most this line.
    pub(crate) fn print(&self) -> Result<(), Error> {
        let mut text =
            serde_json::to_string(self).map_err(|error| Error::new(ErrorKind::Invalid, error.to_string()))?;
        text.push('\n');
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    }
}

/// Parses the lines of a history; a last line that was cut short by a kill is left out.
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
