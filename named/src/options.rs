//! Settings of connections and listeners, by name.

use crate::{CallFormat, Keys, Unknown};
use bertha::Settings;
use bertha::core::guarantee::{Encrypted, Set};
use std::time::Duration;

/// The names beside those of [`Keys`].
const NAMES: &str = "handshake-timeout, idle-timeout, close-timeout, drain-timeout, connections, concurrent-handshakes, \
                     offers-per-second, require-encryption, upgradable, codec";

/// Settings of a connection or a listener.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Settings of the Chunnels of the stack.
    pub keys: Keys,
    /// Time-outs and limits.
    pub settings: Settings,
    /// True if the stack may change while the connection is in use.
    pub is_upgradable: bool,
    /// The format of requests and responses, for calls.
    pub codec: CallFormat,
}

/// Time for which a close waits for the peer where the runtime lives on.
const CLOSE_WAIT: Duration = Duration::from_millis(5);

impl Options {
    /// Returns the options of a process whose runtime lives as long as itself: a task of it waits for a peer that does not receive when
    /// this end closes.
    pub fn of_lasting_runtime() -> Self {
        let mut options = Self::default();
        options.settings.close_wait = CLOSE_WAIT;
        options
    }

    /// Sets what has this name.
    ///
    /// # Errors
    /// [`Unknown`] with the names that there are, or with what is wrong with the value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Unknown> {
        let settings = &mut self.settings;
        match name {
            "handshake-timeout" => settings.handshake_timeout = time(name, value)?,
            "idle-timeout" => settings.idle_timeout = time(name, value)?,
            "close-timeout" => settings.close_timeout = time(name, value)?,
            "drain-timeout" => settings.drain_timeout = time(name, value)?,
            "connections" => settings.connections = number(name, value)?,
            "concurrent-handshakes" => settings.concurrent_handshakes = number(name, value)?,
            "offers-per-second" => settings.offers_per_second = number(name, value)?,
            "require-encryption" => {
                settings.floor = if is(name, value)? { Set::of::<Encrypted>() } else { Set::NONE };
            }
            "codec" => self.codec = value.parse()?,
            "upgradable" => self.is_upgradable = is(name, value)?,
            _ if Keys::NAMES.contains(&name) => {
                self.keys.set(name, value)?;
            }
            _ => {
                let known = Keys::NAMES.join(", ");
                return Err(Unknown::new(format!("`{name}` is no option; the options are {known}, {NAMES}")));
            }
        }
        Ok(())
    }
}

fn time(name: &str, value: &str) -> Result<Duration, Unknown> {
    match value.parse() {
        // A day, so that sums of times stay within what clocks count.
        Ok(milliseconds @ 1..=86_400_000) => Ok(Duration::from_millis(milliseconds)),
        _ => Err(Unknown::new(format!(
            "`{name}` takes milliseconds, from 1 to 86400000, and was given `{value}`"
        ))),
    }
}

fn number<N: std::str::FromStr>(name: &str, value: &str) -> Result<N, Unknown> {
    value.parse().map_err(|_| Unknown::new(format!("`{name}` takes a number, and was given `{value}`")))
}

fn is(name: &str, value: &str) -> Result<bool, Unknown> {
    match value {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(Unknown::new(format!("`{name}` takes yes or no, and was given `{value}`"))),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;

    #[test]
    fn every_name_that_is_told_is_taken() {
        let mut options = Options::default();
        for name in NAMES.split(", ") {
            let value = match name {
                "require-encryption" | "upgradable" => "yes",
                "codec" => "postcard",
                _ => "7",
            };
            options.set(name, value).unwrap();
            assert!(options.set(name, "seven").is_err(), "{name}");
        }
        assert!(options.is_upgradable);
        assert_eq!(options.settings.idle_timeout, Duration::from_millis(7));
        for name in Keys::NAMES.iter().filter(|name| **name != "congestion") {
            options.set(name, "value").unwrap();
        }
        assert!(options.set("tls-cart", "").unwrap_err().to_string().contains("tls-cert"));
    }
}
