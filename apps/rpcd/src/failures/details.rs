//! The details of a failure: a `google.rpc.Status`, as programs of gRPC send it beside the code and the text.
//!
//! They pass from a server of gRPC to callers of gRPC as they came, also over other daemons. Applications have what is in them as words
//! behind the text.

mod messages;

use crate::failures::code::Code;
use bertha_chunnels::rpc::FailureKind;
use bertha_managed::{Refusal, is_unseen};
use messages::{BadRequest, ErrorInfo, RetryInfo, Status, TYPES};
use prost::Message;
use prost_types::Any;
use std::sync::Arc;

/// Number of bytes of the longest details that are passed on. Callers of gRPC take 8 KiB of headers.
pub(crate) const LONGEST: usize = 4 << 10;

/// Number of letters of the longest words about details.
const WORDS: usize = 512;

/// The domain of the daemon's own reasons.
const DOMAIN: &str = "bertha";

/// The details of a failure.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Details {
    /// The daemon itself states the failure.
    #[default]
    OfDaemon,
    /// The server has stated it, with these details or without any.
    OfServer(Option<Arc<[u8]>>),
    /// The server has stated it with details that are not understood, or are too long.
    Garbled,
}

impl Details {
    /// Reads the details that a server has sent.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        if bytes.len() <= LONGEST && Status::decode(bytes).is_ok() {
            Self::OfServer(Some(bytes.into()))
        } else {
            Self::Garbled
        }
    }

    /// Returns the bytes that the server has stated.
    pub(crate) fn stated(&self) -> Option<&[u8]> {
        match self {
            Self::OfServer(bytes) => bytes.as_deref(),
            Self::OfDaemon | Self::Garbled => None,
        }
    }
}

/// Returns the details of a refusal of the daemon of a call to a service. Returns `None` if they are too long.
pub(crate) fn own(refusal: &Refusal, service: &str) -> Option<Vec<u8>> {
    of_daemon(Code::of_failure(refusal.kind) as u16, refusal, Some(service))
}

/// Returns the details of a failure that the daemon itself states, with its code of gRPC. Returns `None` if they are too long.
#[cold]
pub(crate) fn of_daemon(code: u16, refusal: &Refusal, service: Option<&str>) -> Option<Vec<u8>> {
    let metadata = service.map(|service| ("service".to_owned(), service.to_owned())).into_iter().collect();
    let info = ErrorInfo { reason: reason(refusal.kind).into(), domain: DOMAIN.into(), metadata };
    let any = Any { type_url: format!("{TYPES}ErrorInfo"), value: info.encode_to_vec() };
    let status = Status { code: code.into(), message: refusal.reason.as_ref().into(), details: vec![any] };
    Some(status.encode_to_vec()).filter(|bytes| bytes.len() <= LONGEST)
}

/// Returns the code of gRPC that details state.
pub(crate) fn code(details: &[u8]) -> Option<u16> {
    u16::try_from(Status::decode(details).ok()?.code).ok()
}

/// Returns what details say beside the text of a failure, in words behind it. Nothing is said for what the daemon does not know.
#[cold]
pub(crate) fn in_words(details: &[u8]) -> String {
    let any = Status::decode(details).map(|status| status.details).unwrap_or_default();
    let words: Vec<_> = any.iter().filter_map(words).collect();
    if words.is_empty() {
        return String::new();
    }
    let words: String = words.join("; ").chars().take(WORDS).collect();
    format!(" ({})", words.replace(is_unseen, " "))
}

fn words(any: &Any) -> Option<String> {
    let value = any.value.as_slice();
    Some(match any.type_url.rsplit_once('/')?.1 {
        "google.rpc.ErrorInfo" => {
            let ErrorInfo { reason, domain, .. } = ErrorInfo::decode(value).ok()?;
            format!("{reason} of {domain}")
        }
        "google.rpc.RetryInfo" => {
            let delay = RetryInfo::decode(value).ok()?.retry_delay?;
            let delay = std::time::Duration::try_from(delay).ok()?;
            format!("again after {delay:?}")
        }
        "google.rpc.BadRequest" => {
            let first = BadRequest::decode(value).ok()?.violations.into_iter().next()?;
            format!("{}: {}", first.field, first.description)
        }
        _ => return None,
    })
}

fn reason(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Overloaded => "OVERLOADED",
        FailureKind::TimedOut => "TIMED_OUT",
        FailureKind::UnknownMethod => "UNKNOWN_METHOD",
        FailureKind::Malformed => "MALFORMED",
        FailureKind::TooLarge => "TOO_LARGE",
        FailureKind::Disconnected => "DISCONNECTED",
        FailureKind::Denied => "DENIED",
        FailureKind::Unavailable => "UNAVAILABLE",
        _ => "FAILED",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::Violation;

    fn refusal(reason: &str) -> Refusal {
        Refusal { kind: FailureKind::Denied, reason: reason.into() }
    }

    #[test]
    fn the_daemon_names_its_reason_and_the_service() {
        let details = of_daemon(7, &refusal("no"), Some("hotel")).unwrap();
        let status = Status::decode(&*details).unwrap();
        assert_eq!((status.code, status.message.as_str(), code(&details)), (7, "no", Some(7)));
        let info = ErrorInfo::decode(&*status.details[0].value).unwrap();
        assert_eq!((info.reason.as_str(), info.domain.as_str()), ("DENIED", "bertha"));
        assert_eq!(info.metadata.into_iter().collect::<Vec<_>>(), [("service".into(), "hotel".into())]);
        assert_eq!(in_words(&details), " (DENIED of bertha)");
        assert_eq!(of_daemon(7, &refusal(&"x".repeat(LONGEST)), None), None);
    }

    #[test]
    fn each_kind_of_failure_has_a_reason() {
        use FailureKind::{
            Denied, Disconnected, Failed, Malformed, Overloaded, TimedOut, TooLarge, Unavailable,
            UnknownMethod,
        };
        for (kind, reason) in [
            (Overloaded, "OVERLOADED"),
            (TimedOut, "TIMED_OUT"),
            (UnknownMethod, "UNKNOWN_METHOD"),
            (Malformed, "MALFORMED"),
            (TooLarge, "TOO_LARGE"),
            (Disconnected, "DISCONNECTED"),
            (Denied, "DENIED"),
            (Unavailable, "UNAVAILABLE"),
            (Failed, "FAILED"),
        ] {
            let details = own(&Refusal { kind, reason: "no".into() }, "hotel").unwrap();
            assert_eq!(code(&details), Some(Code::of_failure(kind) as u16));
            assert_eq!(in_words(&details), format!(" ({reason} of bertha)"));
        }
    }

    #[test]
    fn what_is_too_long_or_no_status_is_no_details() {
        let status = |message: &str| Status { code: 5, message: message.into(), details: Vec::new() };
        let good = status("no").encode_to_vec();
        assert_eq!(Details::read(&good).stated(), Some(&*good));
        for wrong in
            [b"\xff\xff".to_vec(), b"\x12\x05no".to_vec(), status(&"x".repeat(LONGEST)).encode_to_vec()]
        {
            assert_eq!(Details::read(&wrong), Details::Garbled);
        }
        assert_eq!(code(&Status { code: -1, ..status("") }.encode_to_vec()), None);
    }

    #[test]
    fn details_that_are_known_become_words() {
        let any = |name: &str, value: Vec<u8>| Any { type_url: format!("{TYPES}{name}"), value };
        let retry_delay = Some(prost_types::Duration { seconds: 2, nanos: 500_000_000 });
        let violation = Violation { field: "nights".into(), description: "is zero\u{202e}".into() };
        let details = vec![
            any("Help", Vec::new()),
            any("RetryInfo", RetryInfo { retry_delay }.encode_to_vec()),
            any("RetryInfo", vec![0xff]),
            any("BadRequest", BadRequest { violations: vec![violation] }.encode_to_vec()),
        ];
        let status = Status { code: 3, message: String::new(), details };
        assert_eq!(in_words(&status.encode_to_vec()), " (again after 2.5s; nights: is zero )");
        assert_eq!(in_words(b"\xff"), "");
        let long = ErrorInfo { reason: "x".repeat(3000), ..ErrorInfo::default() }.encode_to_vec();
        let long = Status { details: vec![any("ErrorInfo", long)], ..Status::default() };
        assert_eq!(in_words(&long.encode_to_vec()).chars().count(), WORDS + 3);
    }
}
