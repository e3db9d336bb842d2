//! Messages that an engine works on.
#![allow(unsafe_code)]

use crate::abi::{self, verdict};
use crate::{FailureKind, Kind};
use std::borrow::Cow;
use std::slice;
use std::time::Duration;

/// Messages that are worked on together, in their order.
#[derive(Debug)]
pub struct Burst<'a> {
    messages: &'a mut [abi::Message],
    now: u64,
    held: usize,
    release: &'a mut usize,
    due: &'a mut u64,
    /// The reasons of refusals, which lie there until the daemon has read them.
    reasons: &'a mut Vec<Cow<'static, str>>,
}

/// A message of a call.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a>(&'a abi::Message);

/// A value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// A text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A number with a sign, or a value of an enumeration.
    Signed(i64),
    /// A number without a sign.
    Unsigned(u64),
    /// A number with a fraction.
    Fraction(f64),
    /// True or false.
    Bool(bool),
}

/// A decision about a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The message goes on, unless an earlier request is held.
    Pass,
    /// Its caller gets a failure.
    Refuse {
        /// The kind of the failure.
        kind: FailureKind,
        /// The reason, for people: at most 1,024 bytes.
        reason: Cow<'static, str>,
    },
    /// The request waits until it is [released](Burst::release).
    Hold,
}

impl Verdict {
    /// Returns a refusal.
    pub fn refuse(kind: FailureKind, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Refuse { kind, reason: reason.into() }
    }
}

impl<'a> Burst<'a> {
    /// Returns the view of a burst of the daemon.
    ///
    /// # Safety
    /// The burst is one of the daemon's, whose messages and their values are there for `'a`.
    pub(crate) unsafe fn of(burst: &'a mut abi::Burst, reasons: &'a mut Vec<Cow<'static, str>>) -> Self {
        reasons.clear();
        let abi::Burst { messages, count, now, held, release, due } = burst;
        // SAFETY: the daemon's burst has so many messages, to which nobody else has access meanwhile.
        let messages = unsafe { slice::from_raw_parts_mut(*messages, *count) };
        Self { messages, now: *now, held: *held, release, due, reasons }
    }

    /// Returns the messages.
    pub fn messages(&self) -> impl Iterator<Item = Message<'_>> {
        self.messages.iter().map(Message)
    }

    /// Decides about each message. A request behind a held one is held, too, unless it is refused.
    pub fn judge(&mut self, mut verdict: impl FnMut(Message<'_>) -> Verdict) {
        for message in &mut *self.messages {
            match verdict(Message(message)) {
                Verdict::Pass => message.verdict = verdict::PASS,
                Verdict::Hold => message.verdict = verdict::HOLD,
                Verdict::Refuse { kind, reason } => {
                    (message.verdict, message.refused_as) = (verdict::REFUSE, kind as u8);
                    // The text stays where it is when the list moves.
                    message.reason = abi::Text::of(reason.as_bytes());
                    self.reasons.push(reason);
                }
            }
        }
    }

    /// Returns the time since a beginning, which is the same for all calls of an engine, also behind an upgrade.
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.now)
    }

    /// Returns the number of requests that the engine has held so far.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Lets so many held requests go on, the oldest first, also of those that are held with this burst. More than there are means all.
    pub fn release(&mut self, count: usize) {
        *self.release = count;
    }

    /// Has the engine asked again at a time, even without messages.
    pub fn ask_again(&mut self, at: Duration) {
        *self.due = u64::try_from(at.as_nanos()).unwrap_or(abi::NEVER);
    }
}

impl<'a> Message<'a> {
    /// Returns the kind.
    pub fn kind(self) -> Kind {
        match self.0.kind {
            abi::kind::REQUEST => Kind::Request,
            abi::kind::CANCELLATION => Kind::Cancellation,
            abi::kind::RESPONSE => Kind::Response,
            _ => Kind::Failure(FailureKind::of_code(self.0.failure)),
        }
    }

    /// Returns the number of the call.
    pub fn call(self) -> u64 {
        self.0.call
    }

    /// Returns the number of the method; zero for a cancellation.
    pub fn method(self) -> u32 {
        self.0.method
    }

    /// Returns the number of bytes that the message takes in memory.
    pub fn bytes(self) -> u32 {
        self.0.bytes
    }

    /// Returns the values of a field of a request, by the place of its path among those that the engine [reads](crate::Engine::reads) for the
    /// method. A field that repeats has several, and one that is absent has none.
    pub fn values(self, field: u32) -> impl Iterator<Item = Value<'a>> {
        let values: &[abi::Value] = match self.0.value_count {
            0 => &[],
            // SAFETY: the daemon's message has so many values, as long as the burst is there.
            count => unsafe { slice::from_raw_parts(self.0.values, count) },
        };
        values.iter().filter(move |value| value.field == field).map(Value::of)
    }
}

impl<'a> Value<'a> {
    fn of(value: &'a abi::Value) -> Self {
        let bytes = || match value.text.len {
            0 => &[][..],
            // SAFETY: the daemon's value has so many bytes, as long as the burst is there.
            len => unsafe { slice::from_raw_parts(value.text.at, len) },
        };
        match value.kind {
            // The daemon has checked the text.
            abi::value::TEXT => Self::Text(std::str::from_utf8(bytes()).unwrap_or_default()),
            abi::value::BYTES => Self::Bytes(bytes()),
            abi::value::SIGNED => Self::Signed(value.number as i64),
            abi::value::FRACTION => Self::Fraction(f64::from_bits(value.number)),
            abi::value::BOOL => Self::Bool(value.number != 0),
            _ => Self::Unsigned(value.number),
        }
    }
}
