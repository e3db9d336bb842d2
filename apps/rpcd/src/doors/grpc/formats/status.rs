//! The outcome of a call, as gRPC states it.

use crate::failures::code::Code;
use crate::failures::details::{self, Details};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bertha_chunnels::rpc::FailureKind;
use bertha_managed::{Refusal, is_unseen};
use http::{HeaderMap, HeaderValue};
use std::borrow::Cow;

/// A code with a text for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) code: Code,
    /// The kind of the failure. Several kinds have the same code.
    kind: FailureKind,
    pub(crate) text: Cow<'static, str>,
    pub(crate) details: Details,
}

/// Number of letters of the longest text that is passed on.
const LONGEST: usize = 1024;

const STATUS: &str = "grpc-status";
const MESSAGE: &str = "grpc-message";
const DETAILS: &str = "grpc-status-details-bin";

/// The encoding of headers whose names end in "-bin".
const BINARY: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl Status {
    /// Makes a status that the daemon states.
    pub(crate) fn new(code: Code, text: &str) -> Self {
        Self { code, kind: code.kind(), text: text.to_owned().into(), details: Details::OfDaemon }
    }

    /// Makes the status of a message that is larger than it may be. It has the code of what is exhausted, and is another kind of failure.
    #[cold]
    pub(crate) fn too_large(text: &str) -> Self {
        Self { kind: FailureKind::TooLarge, ..Self::new(Code::ResourceExhausted, text) }
    }

    /// Returns the status of a failure.
    pub(crate) fn of(refusal: &Refusal) -> Self {
        Self { kind: refusal.kind, ..Self::new(Code::of_failure(refusal.kind), &refusal.reason) }
    }

    /// Returns the status with the details that its author has stated.
    pub(crate) fn with(self, details: Details) -> Self {
        Self { details, ..self }
    }

    /// Returns the failure that a status stands for.
    pub(crate) fn refusal(&self) -> Refusal {
        Refusal { kind: self.kind, reason: self.text.as_ref().into() }
    }

    /// Adds the status to trailers.
    pub(crate) fn write(&self, trailers: &mut HeaderMap) {
        let own = match &self.details {
            Details::OfDaemon => details::of_daemon(self.code as u16, &self.refusal(), None),
            Details::OfServer(_) | Details::Garbled => None,
        };
        let details = self.details.stated().or(own.as_deref());
        // Several codes are one kind of failure, and callers compare the code with that of the details.
        let stated = details.and_then(details::code);
        let code = stated.filter(|stated| *stated > 0 && Code::of(*stated).kind() == self.code.kind());
        trailers.insert(STATUS, HeaderValue::from(code.unwrap_or(self.code as u16)));
        if let Ok(text) = HeaderValue::from_str(&escaped(&self.text)) {
            trailers.insert(MESSAGE, text);
        }
        if let Some(details) = details.and_then(|details| HeaderValue::from_str(&BINARY.encode(details)).ok())
        {
            trailers.insert(DETAILS, details);
        }
    }

    /// Reads the status of trailers. Returns `None` if it tells of success.
    pub(crate) fn read(trailers: &HeaderMap) -> Option<Self> {
        let code = trailers.get(STATUS).and_then(|code| code.to_str().ok()?.parse::<u16>().ok());
        let code = match code {
            Some(0) => return None,
            Some(code) => Code::of(code),
            None => return Some(Self::new(Code::Internal, "the server gives no status")),
        };
        let text = trailers.get(MESSAGE).map_or_else(String::new, |text| unescaped(text.as_bytes()));
        let details = trailers.get(DETAILS).map_or(Details::OfServer(None), |details| {
            // No header is longer than what the connection takes.
            BINARY.decode(details).map_or(Details::Garbled, |details| Details::read(&details))
        });
        Some(Self { code, kind: code.kind(), text: text.into(), details })
    }
}

/// Adds the status of success to trailers.
pub(crate) fn write_success(trailers: &mut HeaderMap) {
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
        use FailureKind::{
            Denied, Failed, Malformed, Overloaded, TimedOut, TooLarge, Unavailable, UnknownMethod,
        };
        for kind in [Denied, Failed, Malformed, Overloaded, TimedOut, TooLarge, Unavailable, UnknownMethod] {
            let refusal = Refusal { kind, reason: "reason".into() };
            assert_eq!(Status::of(&refusal).refusal(), refusal);
        }
    }

    #[test]
    fn what_is_too_large_has_the_code_of_what_is_exhausted_and_says_so_in_its_details() {
        let (mut trailers, status) = (HeaderMap::new(), Status::too_large("long"));
        status.write(&mut trailers);
        assert_eq!(status.refusal().kind, FailureKind::TooLarge);
        assert_eq!(trailers[STATUS], "8");
        let details = BINARY.decode(&trailers[DETAILS]).unwrap();
        assert_eq!(details::in_words(&details), " (TOO_LARGE of bertha)");
    }

    #[test]
    fn details_pass_as_they_came_with_the_code_that_they_state() {
        // ABORTED with the text "no", as protobuf has it.
        let bytes = b"\x08\x0a\x12\x02no";
        for header in ["CAoSAm5v", "CAoSAm5v=="] {
            let mut trailers = HeaderMap::new();
            trailers.insert(STATUS, HeaderValue::from(10_u16));
            trailers.insert(DETAILS, HeaderValue::from_static(header));
            let status = Status::read(&trailers).unwrap();
            if header.ends_with('=') {
                assert_eq!(status.details, Details::Garbled, "padding that nothing needs");
                continue;
            }
            assert_eq!(status.details.stated(), Some(&bytes[..]));
            let passed = Status::of(&status.refusal()).with(status.details);
            let mut again = HeaderMap::new();
            passed.write(&mut again);
            assert_eq!((&again[STATUS], &again[DETAILS]), (&trailers[STATUS], &trailers[DETAILS]));
        }
        let mut refused = HeaderMap::new();
        Status::new(Code::PermissionDenied, "no").with(Details::read(bytes)).write(&mut refused);
        assert_eq!(refused[STATUS], "7", "a code that contradicts the failure");
        // A status of success has no text and no code, and is empty.
        let mut failed = HeaderMap::new();
        Status::new(Code::Unknown, "no").with(Details::read(b"")).write(&mut failed);
        assert_eq!((&failed[STATUS], &failed[DETAILS]), (&"2".parse().unwrap(), &"".parse().unwrap()));
    }

    #[test]
    fn a_server_that_states_no_details_has_none() {
        let (mut trailers, mut again) = (HeaderMap::new(), HeaderMap::new());
        trailers.insert(STATUS, HeaderValue::from(5_u16));
        let status = Status::read(&trailers).unwrap();
        status.write(&mut again);
        assert_eq!((&again[STATUS], again.get(DETAILS)), (&trailers[STATUS], None));
    }

    #[test]
    fn details_that_are_no_base64_are_garbled_and_padding_may_be_there() {
        let read = |header: &'static str| {
            let mut trailers = HeaderMap::new();
            trailers.insert(STATUS, HeaderValue::from(5_u16));
            trailers.insert(DETAILS, HeaderValue::from_static(header));
            Status::read(&trailers).unwrap().details
        };
        assert_eq!(read("CAU=").stated(), Some(&b"\x08\x05"[..]));
        assert_eq!(read("CAU"), read("CAU="));
        assert_eq!([read("no base64"), read("////")], [Details::Garbled, Details::Garbled]);
    }
}
