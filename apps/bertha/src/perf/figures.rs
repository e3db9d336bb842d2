//! Figures in their printed form: lines as iperf's, JSON with the names of iperf3.

use super::stream::Outcome;
use crate::rate;
use serde::Serialize;
use std::time::Duration;

/// Bytes and messages in a span of time.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Span {
    /// Start of the span in seconds.
    start: f64,
    end: f64,
    seconds: f64,
    bytes: u64,
    bits_per_second: f64,
    messages: u64,
}

impl Span {
    pub(super) fn new(start: Duration, end: Duration, bytes: u64, messages: u64) -> Self {
        let seconds = (end - start).as_secs_f64();
        let start = start.as_secs_f64();
        let end = end.as_secs_f64();
        Self { start, end, seconds, bytes, bits_per_second: rate::bits_per_second(bytes, seconds), messages }
    }

    /// Returns a line; `id` is the number of a connection, or SUM.
    pub(super) fn line(&self, id: &str, remark: &str) -> String {
        let Self { start, end, bytes, bits_per_second, messages, .. } = *self;
        let bytes = rate::bytes(bytes);
        let rate = rate::bits(bits_per_second);
        let line = format!(
            "[{id:>3}] {start:6.2}-{end:<6.2} sec  {bytes:>12}  {rate:>15}  {messages:>10}  {remark}"
        );
        line.trim_end().to_owned()
    }
}

/// The heading above lines.
pub(super) const HEADING: &str = "[ ID]     Interval        Transfer         Bitrate        Messages";

/// A span of time, for each connection and for all.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Interval {
    pub(super) streams: Vec<Span>,
    pub(super) sum: Span,
}

/// The outcome of a connection, or of all.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Ended {
    pub(super) sender: Span,
    /// The receiver's span; `None` if a server did not answer.
    pub(super) receiver: Option<Span>,
    /// Number of messages that were sent and not received, including messages to a server that did not
    /// answer.
    lost: u64,
    lost_percent: f64,
    /// Number of messages that arrived behind later messages.
    late: u64,
}

impl Ended {
    pub(super) fn of(outcome: &Outcome) -> Self {
        let Outcome { sent_messages, sent_bytes, sending, received } = *outcome;
        let sender = Span::new(Duration::ZERO, sending, sent_bytes, sent_messages);
        let receiver = received.map(|report| {
            let time = Duration::from_micros(report.microseconds);
            Span::new(Duration::ZERO, time, report.bytes, report.messages)
        });
        Self::new(sender, receiver, received.map_or(0, |report| report.late))
    }

    /// Returns the sum over all connections, which have run beside each other.
    pub(super) fn sum(all: &[Self]) -> Self {
        let sender = together(all.iter().map(|ended| ended.sender));
        let receivers: Vec<Span> = all.iter().filter_map(|ended| ended.receiver).collect();
        let receiver = (!receivers.is_empty()).then(|| together(receivers.into_iter()));
        Self::new(sender, receiver, all.iter().map(|ended| ended.late).sum())
    }

    fn new(sender: Span, receiver: Option<Span>, late: u64) -> Self {
        let received = receiver.map_or(0, |span| span.messages);
        let lost = sender.messages.saturating_sub(received);
        let lost_percent = lost as f64 * 100.0 / sender.messages.max(1) as f64;
        Self { sender, receiver, lost, lost_percent, late }
    }

    /// Returns the two lines of iperf.
    pub(super) fn lines(&self, id: &str) -> String {
        let Self { lost, lost_percent, late, .. } = self;
        let sender = self.sender.line(id, "sender");
        match self.receiver {
            Some(span) => {
                let remark = format!("receiver; {lost} ({lost_percent:.2} %) lost, {late} late");
                format!("{sender}\n{}", span.line(id, &remark))
            }
            None => format!("{sender}\n[{id:>3}] the server did not report"),
        }
    }
}

fn together(spans: impl Iterator<Item = Span>) -> Span {
    let mut end = 0.0;
    let mut bytes = 0;
    let mut messages = 0;
    for span in spans {
        end = f64::max(end, span.end);
        bytes += span.bytes;
        messages += span.messages;
    }
    Span::new(Duration::ZERO, Duration::from_secs_f64(end), bytes, messages)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use crate::probe::Report;

    fn outcome(received: Option<u64>) -> Outcome {
        let report =
            |messages| Report { messages, bytes: messages * 10, microseconds: 500_000, ..Report::default() };
        let sending = Duration::from_secs(1);
        Outcome { sent_messages: 100, sent_bytes: 1_000, sending, received: received.map(report) }
    }

    #[test]
    fn sums_add_bytes_and_take_the_longest_time() {
        let all = [Ended::of(&outcome(Some(90))), Ended::of(&outcome(Some(100)))];
        let sum = Ended::sum(&all);
        assert_eq!((sum.lost, sum.lost_percent), (10, 5.0));
        assert_eq!((sum.sender.bytes, sum.sender.bits_per_second), (2_000, 16_000.0));
        let receiver = sum.receiver.unwrap();
        assert_eq!((receiver.seconds, receiver.bytes), (0.5, 1_900));
    }

    #[test]
    fn a_server_that_does_not_report_is_no_receiver() {
        let ended = Ended::of(&outcome(None));
        assert!(ended.receiver.is_none() && ended.lines("1").contains("did not report"));
        assert_eq!(ended.lost, 100);
    }
}
