//! The reason why a call has no response.

use super::Metadata;
use bertha_core::{Error, ErrorKind};
use std::borrow::Cow;
use std::fmt::{self, Write};

/// The kind of a [`Failure`], which decides what the caller can do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureKind {
    /// There is no room for the call: no buffer, or a service that takes no more. Unless it [may have run](Failure::may_have_run), the call
    /// can be made again after a pause.
    Overloaded,
    /// No response came before the deadline.
    TimedOut,
    /// The server has no such method.
    UnknownMethod,
    /// A request, or a response, does not follow the format: the two ends differ in their types.
    Malformed,
    /// The request or the response is larger than a message may be.
    TooLarge,
    /// The service says that it has failed.
    Failed,
    /// The connection has ended.
    Disconnected,
    /// The service does not permit the call to this caller.
    Denied,
    /// The server shuts down. Unless the call [may have run](Failure::may_have_run), it can be made at another server at
    /// once.
    Unavailable,
}

impl FailureKind {
    /// Returns the number that stands for the kind in messages.
    pub fn code(self) -> u8 {
        match self {
            Self::Failed => 0,
            Self::Overloaded => 1,
            Self::TimedOut => 2,
            Self::UnknownMethod => 3,
            Self::Malformed => 4,
            Self::TooLarge => 5,
            Self::Disconnected => 6,
            Self::Denied => 7,
            Self::Unavailable => 8,
        }
    }

    /// Returns the kind of this number; one that is not known, from a later version, is [`Failed`](Self::Failed).
    pub fn of_code(code: u8) -> Self {
        match code {
            1 => Self::Overloaded,
            2 => Self::TimedOut,
            3 => Self::UnknownMethod,
            4 => Self::Malformed,
            5 => Self::TooLarge,
            6 => Self::Disconnected,
            7 => Self::Denied,
            8 => Self::Unavailable,
            _ => Self::Failed,
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Overloaded => "overloaded",
            Self::TimedOut => "timed out",
            Self::UnknownMethod => "unknown method",
            Self::Malformed => "malformed",
            Self::TooLarge => "too large",
            Self::Failed => "failed",
            Self::Disconnected => "disconnected",
            Self::Denied => "denied",
            Self::Unavailable => "unavailable",
        })
    }
}

/// Number of letters of a failure's text that are shown.
const SHOWN: usize = 1024;

/// The reason why a call has no response: a kind, a text, and whether the call may have run nevertheless.
///
/// One pointer wide. `Display` and `Debug` show at most 1,024 letters of the text, with control characters escaped;
/// [`text`](Self::text) has all of it.
#[derive(Clone)]
pub struct Failure(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: FailureKind,
    text: Cow<'static, str>,
    may_have_run: bool,
    connection: Option<ErrorKind>,
    is_refusal: bool,
    trailers: Metadata,
}

impl Failure {
    /// Returns a failure that a service answers with. `text` is for people, and reaches the client.
    #[cold]
    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self::of(FailureKind::Failed, text)
    }

    /// Returns a failure of another kind, for layers around calls. It may have run if it [`Failed`](FailureKind::Failed) or
    /// [`TimedOut`](FailureKind::TimedOut).
    #[cold]
    pub fn of(kind: FailureKind, text: impl Into<Cow<'static, str>>) -> Self {
        let may_have_run = matches!(kind, FailureKind::Failed | FailureKind::TimedOut);
        Self(Box::new(Inner {
            kind,
            text: text.into(),
            may_have_run,
            connection: None,
            is_refusal: false,
            trailers: Metadata::new(),
        }))
    }

    /// Returns a connection that has ended, under a call that was sent or not.
    #[cold]
    pub(super) fn of_connection(error: &Error, was_sent: bool) -> Self {
        let kind = match error.kind() {
            ErrorKind::TooLarge => FailureKind::TooLarge,
            ErrorKind::Exhausted => FailureKind::Overloaded,
            _ => FailureKind::Disconnected,
        };
        let mut failure = Self::of(kind, error.to_string());
        failure.0.may_have_run = was_sent;
        failure.0.connection = (kind == FailureKind::Disconnected).then_some(error.kind());
        failure
    }

    /// Returns the failure of a call whose metadata breaks a rule of [`Metadata`].
    #[cold]
    pub(super) fn of_metadata(error: &Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::TooLarge => FailureKind::TooLarge,
            _ => FailureKind::Malformed,
        };
        Self::of(kind, error.context().to_string())
    }

    /// Returns a call that the server has not begun, since this many calls are under way.
    #[cold]
    pub(super) fn refused(calls: u32) -> Self {
        let mut refused = Self::of(
            FailureKind::Overloaded,
            format!("{calls} calls of this client are under way, the limit of the server"),
        );
        refused.0.is_refusal = true;
        refused
    }

    /// Returns true for a call that the server refused for lack of room.
    pub(super) fn is_refusal(&self) -> bool {
        self.0.is_refusal
    }

    /// Returns the failure of a call whose handler has begun, whatever its kind: the call may have run.
    #[must_use]
    pub fn after_running(mut self) -> Self {
        self.0.may_have_run = true;
        self
    }

    /// Returns the failure of a call whose handler has not begun, whatever its kind: the call may be repeated.
    #[must_use]
    pub fn before_running(mut self) -> Self {
        self.0.may_have_run = false;
        self
    }

    pub(super) fn with_trailers(mut self, trailers: Metadata) -> Self {
        self.0.trailers = trailers;
        self
    }

    /// Returns the kind, for deciding what to do.
    pub fn kind(&self) -> FailureKind {
        self.0.kind
    }

    /// Returns the text without the kind.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Returns true if the server may have run the call, or part of it: for every call whose handler has begun. A call that is repeated
    /// though it may have run, may run twice.
    pub fn may_have_run(&self) -> bool {
        self.0.may_have_run
    }

    /// Returns the metadata that the server has sent with the failure. It is empty for a failure of this end.
    pub fn trailers(&self) -> &Metadata {
        &self.0.trailers
    }

    /// Returns the kind of the error that has ended the connection, if that is the reason.
    pub fn connection_error(&self) -> Option<ErrorKind> {
        self.0.connection
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.0.kind)?;
        // The peer chose the text: it must not end a line, nor move a terminal's cursor.
        let mut letters = self.0.text.chars();
        for letter in letters.by_ref().take(SHOWN) {
            match letter {
                control if control.is_control() => write!(f, "{}", control.escape_debug())?,
                letter => f.write_char(letter)?,
            }
        }
        if letters.next().is_some() { f.write_str(" ..") } else { Ok(()) }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)?;
        f.write_str(if self.0.may_have_run { " (may have run)" } else { " (did not run)" })
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_code_and_a_name_of_its_own() {
        use FailureKind::*;
        let kinds = [
            (Failed, "failed"),
            (Overloaded, "overloaded"),
            (TimedOut, "timed out"),
            (UnknownMethod, "unknown method"),
            (Malformed, "malformed"),
            (TooLarge, "too large"),
            (Disconnected, "disconnected"),
            (Denied, "denied"),
            (Unavailable, "unavailable"),
        ];
        for (code, (kind, name)) in (0..).zip(kinds) {
            assert_eq!((kind.code(), FailureKind::of_code(code), &kind.to_string()[..]), (code, kind, name));
        }
        assert_eq!(FailureKind::of_code(kinds.len() as u8), Failed);
    }

    #[test]
    fn a_failure_tells_whether_the_call_may_have_run() {
        for kind in
            [FailureKind::Failed, FailureKind::TimedOut, FailureKind::Overloaded, FailureKind::Malformed]
        {
            let runs = matches!(kind, FailureKind::Failed | FailureKind::TimedOut);
            let failure = Failure::of(kind, "why");
            assert_eq!((failure.kind(), failure.text(), failure.may_have_run()), (kind, "why", runs));
            assert!(failure.clone().after_running().may_have_run());
            assert!(!failure.before_running().may_have_run());
        }
        let failure = Failure::new("why");
        assert_eq!(failure.to_string(), "failed: why");
        assert_eq!(format!("{failure:?}"), "failed: why (may have run)");
        assert_eq!(format!("{:?}", failure.before_running()), "failed: why (did not run)");
    }

    #[test]
    fn a_text_that_a_peer_chose_is_shown_in_part_and_in_one_line() {
        let odd = Failure::new("it's \"a\\b\"\n\u{1b}[2Jé");
        assert_eq!(odd.to_string(), "failed: it's \"a\\b\"\\n\\u{1b}[2Jé");
        let long = Failure::new("é".repeat(SHOWN + 1));
        assert_eq!(long.to_string(), format!("failed: {} ..", "é".repeat(SHOWN)));
        assert_eq!(long.text().chars().count(), SHOWN + 1);
        assert_eq!(Failure::new("é".repeat(SHOWN)).to_string(), format!("failed: {}", "é".repeat(SHOWN)));
    }

    #[test]
    fn the_error_of_a_connection_decides_the_kind() {
        for (error, kind, of_connection) in [
            (ErrorKind::TooLarge, FailureKind::TooLarge, None),
            (ErrorKind::Exhausted, FailureKind::Overloaded, None),
            (ErrorKind::Reset, FailureKind::Disconnected, Some(ErrorKind::Reset)),
        ] {
            for was_sent in [false, true] {
                let failure = Failure::of_connection(&Error::new(error, "why"), was_sent);
                assert_eq!((failure.kind(), failure.connection_error()), (kind, of_connection));
                assert_eq!((failure.may_have_run(), failure.is_refusal()), (was_sent, false));
            }
        }
        let refused = Failure::refused(7);
        assert!(refused.is_refusal() && !refused.may_have_run() && refused.connection_error().is_none());
        assert_eq!((refused.kind(), &refused.text()[..8]), (FailureKind::Overloaded, "7 calls "));
    }
}
