//! The trace to which a call belongs.

use std::fmt;
use std::str::FromStr;

/// The place of a call in a trace across processes: what varies of version 00 of `traceparent` (W3C Trace Context).
///
/// # Example
/// ```
/// use bertha_chunnels::rpc::Trace;
///
/// let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let trace: Trace = header.parse()?;
/// assert!(trace.is_sampled());
/// assert_eq!(trace.to_string(), header);
/// # Ok::<(), bertha_chunnels::rpc::NoTrace>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Trace {
    id: [u8; 16],
    span: [u8; 8],
    flags: u8,
}

/// A text or bytes that name no trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoTrace;

impl fmt::Display for NoTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a trace is 00-TRACE-SPAN-FLAGS, with 32, 16 and 2 hexadecimal digits in small letters")
    }
}

impl std::error::Error for NoTrace {}

/// The flag of a trace whose spans are recorded.
const SAMPLED: u8 = 1;

/// Number of letters of a text of version 00.
const LETTERS: usize = 55;

impl Trace {
    /// Number of bytes of a trace.
    pub const SIZE: usize = 25;

    /// Begins a trace whose spans are recorded. Returns `None` for an id of zero, which no trace and no span has.
    pub fn begin(id: u128, span: u64) -> Option<Self> {
        let trace = Self { id: id.to_be_bytes(), span: span.to_be_bytes(), flags: SAMPLED };
        (id != 0 && span != 0).then_some(trace)
    }

    /// Returns the trace for what a span below this one calls. Returns `None` for an id of zero.
    pub fn below(self, span: u64) -> Option<Self> {
        (span != 0).then_some(Self { span: span.to_be_bytes(), ..self })
    }

    /// Returns the id that all spans of the trace have.
    pub fn id(&self) -> u128 {
        u128::from_be_bytes(self.id)
    }

    /// Returns the id of the span that calls.
    pub fn span(&self) -> u64 {
        u64::from_be_bytes(self.span)
    }

    /// Returns true if spans of the trace are recorded.
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// Returns the bytes: both ids and the flags, as the text has them.
    pub fn to_bytes(self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[..16].copy_from_slice(&self.id);
        bytes[16..24].copy_from_slice(&self.span);
        bytes[24] = self.flags;
        bytes
    }

    /// Reads a trace. Returns `None` for bytes that name none.
    pub fn read(bytes: &[u8; Self::SIZE]) -> Option<Self> {
        let (id, rest) = bytes.split_first_chunk::<16>()?;
        let (span, flags) = rest.split_first_chunk::<8>()?;
        (*id != [0; 16] && *span != [0; 8]).then_some(Self { id: *id, span: *span, flags: *flags.first()? })
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.id(), self.span(), self.flags)
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Trace {
    type Err = NoTrace;

    /// Reads a `traceparent`. Later versions may have more behind what this one has.
    fn from_str(text: &str) -> Result<Self, NoTrace> {
        let (known, more) = text.split_at_checked(LETTERS).ok_or(NoTrace)?;
        let mut parts = known.split('-');
        let mut next = |digits: usize| {
            let is_digit = |letter: &u8| letter.is_ascii_digit() || (b'a'..=b'f').contains(letter);
            let part = parts.next().filter(|part| part.len() == digits && part.bytes().all(|b| is_digit(&b)));
            part.and_then(|part| u128::from_str_radix(part, 16).ok()).ok_or(NoTrace)
        };
        let (version, id, span, flags) = (next(2)?, next(32)?, next(16)?, next(2)?);
        let is_whole = match version {
            0 => more.is_empty(),
            0xff => false,
            _ => more.is_empty() || more.starts_with('-'),
        };
        // A part of 16 digits is a number of 64 bits, and one of two digits a byte.
        let trace = Self { id: id.to_be_bytes(), span: (span as u64).to_be_bytes(), flags: flags as u8 };
        if is_whole && id != 0 && span != 0 { Ok(trace) } else { Err(NoTrace) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

    #[test]
    fn a_trace_is_read_as_it_was_written() {
        let trace: Trace = TEXT.parse().unwrap();
        assert_eq!((trace.to_string().as_str(), trace.is_sampled()), (TEXT, false));
        assert_eq!(Trace::read(&trace.to_bytes()), Some(trace));
        let below = Trace::begin(trace.id(), trace.span()).unwrap().below(0xab).unwrap();
        assert_eq!(below.to_string(), "00-4bf92f3577b34da6a3ce929d0e0e4736-00000000000000ab-01");
        assert_eq!((below.below(0), Trace::begin(0, 1), Trace::begin(1, 0)), (None, None, None));
    }

    #[test]
    fn later_versions_may_have_more() {
        let later = TEXT.replacen("00", "42", 1);
        for text in [&later, &format!("{later}-more")] {
            assert_eq!(text.parse::<Trace>().unwrap().to_string(), TEXT);
        }
        let wrong = [
            String::new(),
            TEXT[..LETTERS - 1].into(),
            format!("{TEXT}-more"),
            format!("{later}more"),
            TEXT.replacen("00", "ff", 1),
            TEXT.to_uppercase(),
            TEXT.replace("4bf9", "+bf9"),
            TEXT.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            TEXT.replace("00f067aa0ba902b7", &"0".repeat(16)),
            TEXT.replace('-', "_"),
            format!("{}ü", &TEXT[..LETTERS - 1]),
        ];
        for wrong in wrong {
            assert_eq!(wrong.parse::<Trace>(), Err(NoTrace), "{wrong}");
        }
        assert_eq!(Trace::read(&[0; Trace::SIZE]), None);
    }
}
