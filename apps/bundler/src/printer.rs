//! The lines of statistics.

use bertha_core::Error;
use bertha_program::say;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

/// Number of lines that wait for a reader of the output. Further lines are left out.
const WAITING: usize = 16;

/// Prints lines on a thread of its own, since a reader of the output that does not read must keep no packet waiting.
#[derive(Debug)]
pub(crate) struct Printer {
    lines: SyncSender<String>,
    /// Time between two lines of statistics; `None` prints none.
    interval: Option<Duration>,
    due: Duration,
}

impl Printer {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`Io`](bertha_core::ErrorKind::Io) if the system starts no thread.
    pub(crate) fn start(interval: Option<Duration>) -> Result<Self, Error> {
        let (lines, printed) = sync_channel::<String>(WAITING);
        let print = move || printed.iter().for_each(say);
        std::thread::Builder::new().name("printer".to_owned()).spawn(print)?;
        Ok(Self { lines, interval, due: interval.unwrap_or_default() })
    }

    /// Prints a line.
    pub(crate) fn print(&self, line: String) {
        // A line that finds no room is left out.
        let _ = self.lines.try_send(line);
    }

    /// Returns the time since the last line of statistics if the next line is due at `now`.
    pub(crate) fn elapsed(&mut self, now: Duration) -> Option<Duration> {
        let interval = self.interval?;
        let late = now.checked_sub(self.due)?;
        self.due = now + interval;
        Some(interval + late)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_find_no_room_behind_a_reader_that_does_not_read() {
        let (lines, _is_not_read) = sync_channel(WAITING);
        let printer = Printer { lines, interval: None, due: Duration::ZERO };
        (0..2 * WAITING).for_each(|_| printer.print(String::new()));
    }

    #[test]
    fn statistics_are_due_once_in_an_interval() {
        let second = Duration::from_secs(1);
        let mut printer = Printer::start(Some(second)).unwrap();
        let times = [0, 999, 1_500, 2_499, 2_500].map(Duration::from_millis);
        let elapsed = times.map(|now| printer.elapsed(now));
        assert_eq!(elapsed, [None, None, Some(second * 3 / 2), None, Some(second)]);
        assert_eq!(Printer::start(None).unwrap().elapsed(second), None);
    }
}
