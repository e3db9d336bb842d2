//! The presence of the agent.

use bertha_core::{Error, ErrorKind};
use std::time::Duration;

/// Time after which a flow is announced again; it doubles each time, up to the longest.
const FIRST_REPEAT: Duration = Duration::from_millis(100);
const LONGEST_REPEAT: Duration = Duration::from_secs(10);

/// The knowledge about an agent with regard to one flow. Times are on the clock of the flow.
#[derive(Debug)]
pub(super) struct Presence {
    /// Number of messages so far.
    heard: u64,
    /// The time of the first report or announcement that was not followed by a message.
    unanswered: Option<Duration>,
    /// True if a report waits for its answer, and not an announcement alone.
    has_reported: bool,
    /// True if there was no agent for the last message.
    is_gone: bool,
    repeat_at: Duration,
    repeat: Duration,
}

impl Presence {
    pub(super) fn new() -> Self {
        Self {
            heard: 0,
            unanswered: None,
            has_reported: false,
            is_gone: false,
            repeat_at: FIRST_REPEAT,
            repeat: FIRST_REPEAT,
        }
    }

    /// Records the number of messages so far.
    pub(super) fn on_heard(&mut self, messages: u64) {
        if messages != self.heard {
            self.heard = messages;
            self.unanswered = None;
            self.is_gone = false;
            // An agent that answers announcements alone may do so for ever: its program may be refused, or it
            // may fall silent each time.
            if std::mem::take(&mut self.has_reported) {
                self.repeat = FIRST_REPEAT;
            }
        }
    }

    /// Records that a report was sent, or could not be sent.
    pub(super) fn on_reported(&mut self, sent: &Result<(), Error>, now: Duration) {
        self.has_reported = true;
        self.on_sent(sent, now);
    }

    /// Records that a message was sent, or could not be sent.
    pub(super) fn on_sent(&mut self, sent: &Result<(), Error>, now: Duration) {
        // An agent that takes nothing at the moment is there, and may answer in time.
        self.is_gone = sent.as_ref().is_err_and(|error| error.kind() != ErrorKind::Exhausted);
        self.unanswered.get_or_insert(now);
    }

    /// Returns true if the agent is gone, or silent for longer than `timeout`.
    pub(super) fn is_silent(&self, timeout: Duration, now: Duration) -> bool {
        self.is_gone || self.unanswered.is_some_and(|since| now.saturating_sub(since) > timeout)
    }

    /// Returns true if it is time to announce the flow again.
    pub(super) fn is_repeat_due(&mut self, now: Duration) -> bool {
        let is_due = now >= self.repeat_at;
        if is_due {
            self.repeat = (self.repeat * 2).min(LONGEST_REPEAT);
            self.repeat_at = now + self.repeat;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of announcements in a minute, of which each is answered.
    fn announcements(answers_reports: bool) -> usize {
        let mut presence = Presence::new();
        let mut announced = 0;
        for ms in 0..60_000 {
            let now = Duration::from_millis(ms);
            if presence.is_repeat_due(now) {
                announced += 1;
                presence.on_sent(&Ok(()), now);
                if answers_reports {
                    presence.on_reported(&Ok(()), now);
                }
            }
            presence.on_heard(announced as u64);
        }
        announced
    }

    #[test]
    fn announcements_become_rare_unless_reports_are_answered() {
        let rare = announcements(false);
        assert!((8..16).contains(&rare), "{rare}");
        assert!(announcements(true) > 200);
    }
}
