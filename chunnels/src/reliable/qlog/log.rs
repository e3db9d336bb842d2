//! The log of one connection.

use super::json::Json;
use super::measures::Metrics;
use super::sink::{END, SEPARATOR, Sink};
use std::time::Duration;

/// Room for the record that ends a log at its limit.
const LAST: u64 = 256;

/// The records of one connection, up to a limit of their bytes.
#[derive(Debug)]
pub(in crate::reliable) struct Log {
    pub(super) json: Json,
    sink: Sink,
    /// The bytes that may still be written, less the room for the last record.
    left: u64,
    limit: u64,
    /// Start of the record that is being written.
    start: usize,
    /// True once nothing more is written: the limit is reached, or the sink has failed.
    is_over: bool,
    /// The time of the latest call that had a time.
    now: Duration,
    pub(super) known: Metrics,
    /// The number behind the last message that was sent for the first time.
    pub(super) sent: u64,
}

impl Log {
    pub(super) fn new(sink: Sink, limit: u64) -> Self {
        let json = Json::new(sink.capacity());
        let left = limit.saturating_sub(LAST);
        Self {
            json,
            sink,
            left,
            limit,
            start: 0,
            is_over: false,
            now: Duration::ZERO,
            known: Metrics::default(),
            sent: 0,
        }
    }

    /// Sets the time of events that have none of their own.
    pub(in crate::reliable) fn at(&mut self, now: Duration) {
        self.now = self.now.max(now);
    }

    /// Returns the time of the latest call.
    pub(in crate::reliable) fn now(&self) -> Duration {
        self.now
    }

    /// Begins the record of an event, up to the fields of its data; `None` if nothing more is written. [`end`](Self::end) takes the
    /// record back.
    #[inline(always)]
    pub(super) fn begin(&mut self, name_and_data: &str) -> Option<Json> {
        if self.is_over {
            return None;
        }
        let mut json = std::mem::take(&mut self.json);
        self.start = json.len;
        json.raw(SEPARATOR).raw("{\"time\":").exact_ms(self.now).raw(name_and_data);
        Some(json)
    }

    /// Begins the first record, which is no event.
    pub(super) fn begin_header(&mut self) -> Json {
        let mut json = std::mem::take(&mut self.json);
        json.raw(SEPARATOR);
        json
    }

    /// Ends a record.
    #[inline(always)]
    pub(super) fn end(&mut self, mut json: Json, text: &str) {
        json.raw(text).raw(END);
        self.json = json;
        self.pass_on();
    }

    /// Passes the newest record on, if there is room for it.
    fn pass_on(&mut self) {
        let len = (self.json.len - self.start) as u64;
        if len > self.left {
            self.end_at_limit();
        } else {
            self.left -= len;
            self.is_over = !self.sink.take(&mut self.json, false);
        }
    }

    /// Replaces the record, for which there is no room, by the record that ends the log.
    #[cold]
    fn end_at_limit(&mut self) {
        self.json.len = self.start;
        self.json.raw(SEPARATOR).raw("{\"time\":").exact_ms(self.now);
        self.json.raw(
            ",\"name\":\"loglevel:warning\",\"data\":{\"message\":\"the qlog ends here, at its limit of ",
        );
        self.json.number(self.limit).raw(" bytes\"}}").raw(END);
        self.sink.take(&mut self.json, true);
        self.is_over = true;
    }

    /// Writes the records that wait.
    pub(super) fn flush(&mut self) {
        if !self.is_over && self.json.len > 0 {
            self.is_over = !self.sink.take(&mut self.json, true);
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.flush();
    }
}
