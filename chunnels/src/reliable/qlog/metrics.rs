//! The records of the window and of the round-trip times.

use super::json::LARGEST;
use super::log::Log;
use super::measures::Metrics;
use std::time::Duration;

impl Log {
    /// Writes the measures that have changed.
    #[inline]
    pub(in crate::reliable) fn metrics_updated(&mut self, now: Duration, metrics: &Metrics) {
        self.at(now);
        let known = self.known;
        if *metrics == known {
            return;
        }
        let Some(mut json) = self.begin(",\"name\":\"quic:recovery_metrics_updated\",\"data\":{") else {
            return;
        };
        self.known = *metrics;
        if metrics.min_rtt != known.min_rtt {
            json.raw("\"min_rtt\":").ms(metrics.min_rtt).raw(",");
        }
        if metrics.smoothed_rtt != known.smoothed_rtt {
            json.raw("\"smoothed_rtt\":").ms(metrics.smoothed_rtt).raw(",");
        }
        if metrics.latest_rtt != known.latest_rtt {
            json.raw("\"latest_rtt\":").ms(metrics.latest_rtt).raw(",");
        }
        if metrics.rtt_variance != known.rtt_variance {
            json.raw("\"rtt_variance\":").ms(metrics.rtt_variance).raw(",");
        }
        if metrics.timeouts != known.timeouts {
            json.raw("\"pto_count\":").number(metrics.timeouts.min(u32::from(u16::MAX)).into()).raw(",");
        }
        if metrics.window != known.window {
            json.raw("\"congestion_window\":").number(metrics.window).raw(",");
        }
        if metrics.bytes_in_flight != known.bytes_in_flight {
            json.raw("\"bytes_in_flight\":").number(metrics.bytes_in_flight).raw(",");
        }
        if metrics.packets_in_flight != known.packets_in_flight {
            json.raw("\"packets_in_flight\":").number(metrics.packets_in_flight).raw(",");
        }
        // In bits per second. A flow that is not paced has no bound, and no rate here.
        let bits = metrics.rate.saturating_mul(8);
        if metrics.rate != known.rate && bits <= LARGEST {
            json.raw("\"pacing_rate\":").number(bits).raw(",");
        }
        json.end_list();
        self.end(json, "}}");
    }
}
