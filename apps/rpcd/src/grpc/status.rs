//! The outcome of a call, as gRPC states it.

use bertha_chunnels::rpc::FailureKind;
use bertha_managed::{Refusal, is_unseen};
use http::{HeaderMap, HeaderValue};
use std::borrow::Cow;

/// The codes of gRPC that have a meaning here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    Cancelled = 1,
    Unknown = 2,
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    NotFound = 5,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
}

/// A code with a text for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) code: Code,
    pub(super) text: Cow<'static, str>,
}

/// Number of letters of the longest text that is passed on.
const LONGEST: usize = 1024;

const STATUS: &str = "grpc-status";
const MESSAGE: &str = "grpc-message";

impl Status {
    pub(super) fn new(code: Code, text: &str) -> Self {
        Self { code, text: text.to_owned().into() }
    }

    /// Returns the status of a failure.
    pub(super) fn of(kind: FailureKind, reason: &str) -> Self {
        let code = match kind {
            FailureKind::Overloaded | FailureKind::TooLarge => Code::ResourceExhausted,
            FailureKind::TimedOut => Code::DeadlineExceeded,
            FailureKind::UnknownMethod => Code::Unimplemented,
            FailureKind::Malformed => Code::InvalidArgument,
            FailureKind::Denied => Code::PermissionDenied,
            FailureKind::Unavailable | FailureKind::Disconnected => Code::Unavailable,
            _ => Code::Unknown,
        };
        Self::new(code, reason)
    }

    /// Returns the failure that a status stands for.
    pub(super) fn refusal(&self) -> Refusal {
        let kind = match self.code {
            Code::ResourceExhausted => FailureKind::Overloaded,
            Code::DeadlineExceeded => FailureKind::TimedOut,
            Code::Unimplemented => FailureKind::UnknownMethod,
            Code::InvalidArgument => FailureKind::Malformed,
            Code::PermissionDenied => FailureKind::Denied,
            Code::Unavailable => FailureKind::Unavailable,
            Code::Cancelled | Code::Unknown | Code::NotFound | Code::Internal => FailureKind::Failed,
        };
        Refusal { kind, reason: self.text.as_ref().into() }
    }

    /// Adds the status to trailers.
    pub(super) fn write(&self, trailers: &mut HeaderMap) {
        trailers.insert(STATUS, HeaderValue::from(self.code as u16));
        if let Ok(text) = HeaderValue::from_str(&escaped(&self.text)) {
            trailers.insert(MESSAGE, text);
        }
    }

    /// Reads the status of trailers. Returns `None` if it tells of success.
    pub(super) fn read(trailers: &HeaderMap) -> Option<Self> {
        let code = trailers.get(STATUS).and_then(|code| code.to_str().ok()?.parse::<u16>().ok());
        let code = match code {
            Some(0) => return None,
            Some(1) => Code::Cancelled,
            Some(3 | 9 | 11) => Code::InvalidArgument,
            Some(4) => Code::DeadlineExceeded,
            Some(5) => Code::NotFound,
            Some(7 | 16) => Code::PermissionDenied,
            Some(8) => Code::ResourceExhausted,
            Some(12) => Code::Unimplemented,
            Some(13 | 15) => Code::Internal,
            Some(14) => Code::Unavailable,
            Some(_) => Code::Unknown,
            None => return Some(Self::new(Code::Internal, "the server gives no status")),
        };
        let text = trailers.get(MESSAGE).map_or_else(String::new, |text| unescaped(text.as_bytes()));
        Some(Self { code, text: text.into() })
    }
}

/// Adds the status of success to trailers.
pub(super) fn write_success(trailers: &mut HeaderMap) {
    trailers.insert(STATUS, HeaderValue::from_static("0"));
}

/// Returns a text with percent signs in the place of bytes that a header may not have.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars().take(LONGEST) {
        if matches!(letter, ' '..='~') && letter != '%' {
            escaped.push(letter);
        } else {
            let mut bytes = [0; 4];
            letter.encode_utf8(&mut bytes).bytes().for_each(|byte| escaped += &format!("%{byte:02X}"));
        }
    }
    escaped
}

/// Returns the text that was escaped. A percent sign without two digits stands for itself, and characters that do not show are spaces.
fn unescaped(bytes: &[u8]) -> String {
    let (mut unescaped, mut rest) = (Vec::new(), bytes);
    while let Some((first, after)) = rest.split_first() {
        let digits = after.split_first_chunk::<2>().filter(|_| *first == b'%');
        let byte = digits.and_then(|(digits, _)| {
            digits.iter().all(u8::is_ascii_hexdigit).then_some(())?;
            u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
        });
        unescaped.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    let text = String::from_utf8_lossy(&unescaped);
    text.chars().take(LONGEST).map(|letter| if is_unseen(letter) { ' ' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_as_it_was_written() {
        for text in ["", "plain", "100 % Größe\n", "%41"] {
            let (mut trailers, status) = (HeaderMap::new(), Status::new(Code::PermissionDenied, text));
            status.write(&mut trailers);
            let read = Status::read(&trailers).unwrap();
            assert_eq!(
                (read.code, read.text.as_ref()),
                (Code::PermissionDenied, text.replace('\n', " ").as_str())
            );
        }
        assert_eq!(escaped("a%ü"), "a%25%C3%BC");
        assert_eq!(unescaped(b"%4%zz%+1%C3%BC%"), "%4%zz%+1ü%");
        assert_eq!(unescaped(b"a%E2%80%AEb%0A"), "a b ");
    }

    #[test]
    fn success_is_no_status_and_silence_is_one() {
        let mut trailers = HeaderMap::new();
        assert_eq!(Status::read(&trailers).unwrap().code, Code::Internal);
        write_success(&mut trailers);
        assert_eq!(Status::read(&trailers), None);
    }

    #[test]
    fn failures_keep_their_kinds() {
        use FailureKind::{Denied, Failed, Malformed, Overloaded, TimedOut, Unavailable, UnknownMethod};
        for kind in [Denied, Failed, Malformed, Overloaded, TimedOut, Unavailable, UnknownMethod] {
            assert_eq!(Status::of(kind, "reason").refusal(), Refusal { kind, reason: "reason".into() });
        }
    }
}
