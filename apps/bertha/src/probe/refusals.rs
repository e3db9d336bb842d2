//! Clients that were not served: at most one line a second tells of them, however many there are.

use bertha::Error;
use bertha_program::escaped;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// Time between two lines.
const PAUSE: Duration = Duration::from_secs(1);

/// The clients that were not served and have no line yet.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    count: u64,
    /// The reason of the last refusal.
    last: String,
    /// Time of the last line.
    told: Option<Instant>,
}

impl Refusals {
    pub(super) fn add(&mut self, error: &Error) {
        self.count += 1;
        self.last = error.to_string();
    }

    /// Returns true if there are refusals that no line has told.
    pub(super) fn are_untold(&self) -> bool {
        self.count > 0
    }

    /// Waits until a line is due; forever if there is no refusal to tell.
    pub(super) async fn due(&self) {
        match (self.count, self.told) {
            (0, _) => std::future::pending().await,
            (_, None) => {}
            (_, Some(told)) => sleep_until(told + PAUSE).await,
        }
    }

    /// Returns the line about the refusals since the last line.
    pub(super) fn line(&mut self, json: bool, now: Instant) -> String {
        self.told = Some(now);
        let (count, reason) = (std::mem::take(&mut self.count), escaped(&std::mem::take(&mut self.last)));
        match (json, count) {
            (true, _) => serde_json::json!({ "refused": reason, "clients": count }).to_string(),
            (false, 1) => format!("a client was not served: {reason}"),
            (false, _) => format!("{count} clients were not served, the last one for this reason: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha::ErrorKind;

    #[tokio::test(flavor = "current_thread", start_paused = true)]
    async fn many_refusals_have_a_line_a_second() {
        let mut refusals = Refusals::default();
        let start = Instant::now();
        let mut lines = Vec::new();
        for _ in 0..250 {
            refusals.add(&Error::new(ErrorKind::TimedOut, "silent\u{1b}"));
            let next = tokio::time::timeout(Duration::from_millis(10), refusals.due());
            if next.await.is_ok() {
                lines.push(refusals.line(false, Instant::now()));
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        assert_eq!(lines.len() as u64, 1 + start.elapsed().as_secs(), "{lines:?}");
        assert!(lines[0].starts_with("a client was not served") && lines[0].ends_with(r"silent\u{1b}"));
        assert!(lines[1].starts_with("99 clients") || lines[1].starts_with("100 clients"), "{lines:?}");
        assert!(refusals.line(true, start).contains(r#""clients":"#));
    }
}
