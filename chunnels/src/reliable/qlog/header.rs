//! The first record, which describes the log.

use super::log::Log;
use super::wall_clock::WallClock;

impl Log {
    /// Writes the header. Times are relative to the beginning of the connection; `clock` is its approximate date, which a log in virtual
    /// time has not.
    pub(super) fn header(&mut self, connection: u64, vantage: &str, clock: Option<WallClock>) {
        let mut json = self.begin_header();
        json.raw("{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\"");
        json.raw(",\"serialization_format\":\"application/qlog+json-seq\"");
        json.raw(",\"title\":\"Reliable\",\"description\":\"a connection of Bertha's Chunnel Reliable\"");
        json.raw(",\"trace\":{\"common_fields\":{\"group_id\":\"").number(connection);
        json.raw("\",\"time_format\":\"relative_to_epoch\"");
        json.raw(",\"reference_time\":{\"clock_type\":\"monotonic\",\"epoch\":\"unknown\"");
        if let Some(clock) = clock {
            json.raw(",\"wall_clock_time\":").string(&clock.to_string());
        }
        json.raw("}},\"vantage_point\":{\"type\":").string(vantage);
        json.raw("},\"event_schemas\":[\"urn:ietf:params:qlog:events:quic-13\"");
        json.raw(",\"urn:ietf:params:qlog:events:loglevel-14\"]");
        self.end(json, "}}");
    }
}
