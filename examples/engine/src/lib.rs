//! `pace`: lets one call pass in an interval, and refuses those with a value of a field. `pace.c` is the same engine in C: either goes on with
//! the state of the other.

use bertha_plugin::{Binding, Burst, Engine, FailureKind, Kind, Message, State, Value, Verdict};
use std::time::Duration;

/// The policy, with its settings:
///
/// - `microseconds`: the interval between two calls, 0. Requests that come earlier wait.
/// - `field`, `deny`: the path of a text in requests, and the value with which they are refused.
#[derive(Debug, Clone, Default)]
pub struct Pace {
    interval: Duration,
    field: String,
    deny: String,
    /// The earliest time of the next call.
    next: Duration,
}

impl Pace {
    /// Takes settings, or the state of another engine, which has the same form.
    fn set(mut self, settings: &str) -> Result<Self, String> {
        for setting in settings.split_whitespace() {
            let wrong = || format!("the setting {setting} is not understood");
            let (name, value) = setting.split_once('=').ok_or_else(wrong)?;
            match name {
                "microseconds" => self.interval = Duration::from_micros(value.parse().map_err(|_| wrong())?),
                "next" => self.next = Duration::from_nanos(value.parse().map_err(|_| wrong())?),
                "field" => value.clone_into(&mut self.field),
                "deny" => value.clone_into(&mut self.deny),
                _ => return Err(wrong()),
            }
        }
        Ok(self)
    }

    fn denies(&self, message: Message<'_>) -> bool {
        !self.deny.is_empty() && message.values(0).any(|value| value == Value::Text(&self.deny))
    }
}

impl Engine for Pace {
    const NAME: &'static str = "pace";

    fn make(settings: &str, _: &Binding<'_>) -> Result<Self, String> {
        Self::default().set(settings)
    }

    fn reads(&self, _: u32) -> &str {
        &self.field
    }

    fn requests(&mut self, burst: &mut Burst<'_>) {
        let (now, mut waiting) = (burst.now(), burst.held());
        burst.judge(|message| match message.kind() {
            Kind::Request if self.denies(message) => {
                Verdict::refuse(FailureKind::Denied, "pace denies the value")
            }
            Kind::Request => {
                waiting += 1;
                Verdict::Hold
            }
            _ => Verdict::Pass,
        });
        if self.interval.is_zero() {
            burst.release(usize::MAX);
        } else if waiting > 0 {
            if self.next <= now {
                burst.release(1);
                (self.next, waiting) = (now + self.interval, waiting - 1);
            }
            if waiting > 0 {
                burst.ask_again(self.next);
            }
        }
    }

    fn configure(&mut self, settings: &str) -> Result<(), String> {
        if settings.contains("field=") {
            return Err("the field of pace stays what it is".into());
        }
        *self = self.clone().set(settings)?;
        Ok(())
    }

    fn take_apart(&mut self) -> State<'_> {
        let Self { interval, field, deny, next } = self;
        let mut state = format!("microseconds={} next={}", interval.as_micros(), next.as_nanos());
        for (name, value) in [("field", field), ("deny", deny)] {
            if !value.is_empty() {
                state = format!("{state} {name}={value}");
            }
        }
        State { version: 1, bytes: state.into_bytes().into() }
    }

    fn restore(state: State<'_>, _: &Binding<'_>) -> Result<Self, String> {
        match (state.version, std::str::from_utf8(&state.bytes)) {
            (1, Ok(text)) => Self::default().set(text),
            (version, _) => Err(format!("state of pace of version {version} is not understood")),
        }
    }
}

bertha_plugin::export!(Pace);
