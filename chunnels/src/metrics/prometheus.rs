//! The text that Prometheus scrapes: its exposition format, version 0.0.4.

use super::{Metrics, Snapshot, Totals};
use std::fmt::{self, Display, Write};

/// Returns the counters in the format of Prometheus: the counters `bertha_messages_total`,
/// `bertha_bytes_total` and `bertha_errors_total`, each for both directions; the gauge
/// `bertha_position_connections`;
/// and the histogram `bertha_send_seconds`. The label `position` is [`Metrics::position`], which should
/// differ between Chunnels.
pub fn prometheus<'m>(metrics: impl IntoIterator<Item = &'m Metrics>) -> String {
    let positions: Vec<(Label<'_>, Snapshot)> =
        metrics.into_iter().map(|it| (Label(it.position()), it.snapshot())).collect();
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_all(&mut text, &positions);
    text
}

fn write_all(text: &mut String, positions: &[(Label<'_>, Snapshot)]) -> fmt::Result {
    type Value = fn(&Totals) -> u64;
    let counters: [(&str, &str, Value); 3] = [
        ("bertha_messages_total", "Messages that passed.", |totals| totals.messages),
        ("bertha_bytes_total", "Bytes in messages that passed.", |totals| totals.bytes),
        ("bertha_errors_total", "Calls that failed.", |totals| totals.errors),
    ];
    for (name, help, value) in counters {
        head(text, name, help, "counter")?;
        for (position, snapshot) in positions {
            for (direction, totals) in [("sent", &snapshot.sent), ("received", &snapshot.received)] {
                let value = value(totals);
                writeln!(text, "{name}{{position=\"{position}\",direction=\"{direction}\"}} {value}")?;
            }
        }
    }
    head(text, "bertha_position_connections", "Connections with this position in their stack.", "gauge")?;
    for (position, snapshot) in positions {
        writeln!(text, "bertha_position_connections{{position=\"{position}\"}} {}", snapshot.connections)?;
    }
    let name = "bertha_send_seconds";
    head(text, name, "Time until the layers below had taken the message.", "histogram")?;
    for (position, snapshot) in positions {
        let latency = &snapshot.latency;
        for (bound, count) in latency.octaves() {
            let bound = bound.as_secs_f64();
            writeln!(text, "{name}_bucket{{position=\"{position}\",le=\"{bound}\"}} {count}")?;
        }
        writeln!(text, "{name}_bucket{{position=\"{position}\",le=\"+Inf\"}} {}", latency.count())?;
        writeln!(text, "{name}_sum{{position=\"{position}\"}} {}", latency.sum().as_secs_f64())?;
        writeln!(text, "{name}_count{{position=\"{position}\"}} {}", latency.count())?;
    }
    Ok(())
}

fn head(text: &mut String, name: &str, help: &str, kind: &str) -> fmt::Result {
    writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}")
}

/// The value of a label, escaped.
struct Label<'a>(&'a str);

impl Display for Label<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|char| match char {
            '\\' => f.write_str("\\\\"),
            '"' => f.write_str("\\\""),
            '\n' => f.write_str("\\n"),
            char => f.write_char(char),
        })
    }
}
