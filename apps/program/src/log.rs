//! The log of a program.

use std::io::{IsTerminal, stderr};
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Writes the program's log to stderr from now on: warnings and errors (of h2, errors), or the levels that the environment
/// variable `RUST_LOG` names, such as `debug` or `bertha::negotiation=trace,warn`. A value that can't be read is told, and changes nothing.
///
/// # Panics
/// Panics if the program has a log already.
pub(crate) fn to_stderr() {
    let wanted = std::env::var("RUST_LOG").unwrap_or_default();
    let (levels, unread) = levels(&wanted);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(stderr)
        // Colours are for people.
        .with_ansi(stderr().is_terminal());
    tracing_subscriber::registry().with(lines).with(levels).init();
    if let Some(reason) = unread {
        tracing::warn!(
            RUST_LOG = wanted,
            reason,
            "the levels of the log are not set; an example is `bertha::negotiation=trace,warn`"
        );
    }
}

/// Returns the levels that a value of `RUST_LOG` names, and the reason if they are warnings and errors because the value can't be read.
fn levels(wanted: &str) -> (Targets, Option<String>) {
    // h2 warns of each stream that its peer resets, which a stranger does as often as it likes.
    let usual = Targets::new().with_default(Level::WARN).with_target("h2", Level::ERROR);
    if wanted.trim().is_empty() {
        return (usual, None);
    }
    match wanted.parse() {
        Ok(levels) => (levels, None),
        Err(error) => (usual, Some(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_logged_unless_levels_are_named() {
        for nothing in ["", " "] {
            let (levels, unread) = levels(nothing);
            assert!(
                levels.would_enable("a_crate", &Level::WARN) && !levels.would_enable("a_crate", &Level::INFO)
            );
            assert_eq!(unread, None);
        }
    }

    #[test]
    fn levels_are_named_for_all_or_for_a_target() {
        let (levels, _) = levels("bertha::negotiation=trace,info");
        assert!(levels.would_enable("bertha::negotiation", &Level::TRACE));
        assert!(
            levels.would_enable("a_crate", &Level::INFO) && !levels.would_enable("a_crate", &Level::DEBUG)
        );
    }

    #[test]
    fn a_value_that_cannot_be_read_is_told() {
        let (levels, unread) = levels("bertha=loud");
        assert!(
            levels.would_enable("a_crate", &Level::WARN) && !levels.would_enable("a_crate", &Level::INFO)
        );
        assert!(unread.is_some());
    }
}
