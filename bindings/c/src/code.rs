//! The codes that functions of C return.

use bertha::ErrorKind;
use bertha::rpc::FailureKind;
use std::ffi::CStr;

/// The result of a function: zero if it has done its work, or the kind of error.
///
/// bertha_error_message() has the text of this thread's latest error, and bertha_error_ends_connection() tells
/// if the connection has ended with it.
#[allow(non_camel_case_types, reason = "the names are those of C")]
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum bertha_code {
    /// The work is done.
    BERTHA_OK = 0,
    /// One of the ends closed the connection in order.
    BERTHA_CLOSED = 1,
    /// The connection was cut: messages of either end may be missing.
    BERTHA_RESET = 2,
    /// The peer did not answer in time.
    BERTHA_TIMED_OUT = 3,
    /// The address does not answer.
    BERTHA_UNREACHABLE = 4,
    /// This machine did not send the message, or no route leads to the host.
    BERTHA_NOT_SENT = 5,
    /// The two ends have no stack that both can run.
    BERTHA_REFUSED = 6,
    /// The two ends speak different versions of the protocol.
    BERTHA_VERSION = 7,
    /// The other end did not prove that it has the right key, or asks for a key that this end lacks.
    BERTHA_UNAUTHENTICATED = 8,
    /// Bytes that do not follow the agreed format.
    BERTHA_MALFORMED = 9,
    /// A message is longer than the connection carries, or longer than the memory for it.
    BERTHA_TOO_LARGE = 10,
    /// A bounded resource is used up for the moment.
    BERTHA_EXHAUSTED = 11,
    /// The address to listen at belongs to another socket.
    BERTHA_ADDRESS_IN_USE = 12,
    /// This build or this machine does not have the feature.
    BERTHA_UNAVAILABLE = 13,
    /// The call or the configuration makes no sense.
    BERTHA_INVALID = 14,
    /// An error of the operating system for which there is no other code.
    BERTHA_IO = 15,
    /// The handle is none: it was released, or is zero, or names an object of another kind.
    BERTHA_BAD_HANDLE = 16,
    /// An argument that no call takes: a null pointer, a text that is not UTF-8, a length beyond all memory.
    BERTHA_BAD_ARGUMENT = 17,
    /// The time of the call is up, and the call has done nothing.
    BERTHA_WOULD_BLOCK = 18,
    /// The process was forked after its first call of Bertha. The child has no threads of the library.
    BERTHA_FORKED = 19,
    /// An error in this library, which goes on.
    BERTHA_PANIC = 20,
    /// Nothing further comes: a stream has ended, a service has ended, or nobody waits for what is sent.
    BERTHA_END = 21,
    /// The service says that the call has failed.
    BERTHA_CALL_FAILED = 22,
    /// The service or this end has no room for the call.
    BERTHA_CALL_OVERLOADED = 23,
    /// The deadline passed before a response came.
    BERTHA_CALL_TIMED_OUT = 24,
    /// The service has no such method.
    BERTHA_CALL_UNKNOWN_METHOD = 25,
    /// A request or a response does not follow the format.
    BERTHA_CALL_MALFORMED = 26,
    /// A request or a response is larger than a message may be.
    BERTHA_CALL_TOO_LARGE = 27,
    /// The connection of the call has ended.
    BERTHA_CALL_DISCONNECTED = 28,
    /// The service does not permit the call to this caller.
    BERTHA_CALL_DENIED = 29,
    /// The service shuts down.
    BERTHA_CALL_UNAVAILABLE = 30,
}

pub(crate) use bertha_code as Code;

impl Code {
    /// All codes, in the order of their numbers.
    pub(crate) const ALL: [Self; 31] = [
        Self::BERTHA_OK,
        Self::BERTHA_CLOSED,
        Self::BERTHA_RESET,
        Self::BERTHA_TIMED_OUT,
        Self::BERTHA_UNREACHABLE,
        Self::BERTHA_NOT_SENT,
        Self::BERTHA_REFUSED,
        Self::BERTHA_VERSION,
        Self::BERTHA_UNAUTHENTICATED,
        Self::BERTHA_MALFORMED,
        Self::BERTHA_TOO_LARGE,
        Self::BERTHA_EXHAUSTED,
        Self::BERTHA_ADDRESS_IN_USE,
        Self::BERTHA_UNAVAILABLE,
        Self::BERTHA_INVALID,
        Self::BERTHA_IO,
        Self::BERTHA_BAD_HANDLE,
        Self::BERTHA_BAD_ARGUMENT,
        Self::BERTHA_WOULD_BLOCK,
        Self::BERTHA_FORKED,
        Self::BERTHA_PANIC,
        Self::BERTHA_END,
        Self::BERTHA_CALL_FAILED,
        Self::BERTHA_CALL_OVERLOADED,
        Self::BERTHA_CALL_TIMED_OUT,
        Self::BERTHA_CALL_UNKNOWN_METHOD,
        Self::BERTHA_CALL_MALFORMED,
        Self::BERTHA_CALL_TOO_LARGE,
        Self::BERTHA_CALL_DISCONNECTED,
        Self::BERTHA_CALL_DENIED,
        Self::BERTHA_CALL_UNAVAILABLE,
    ];

    /// Returns a few words for the code of this number.
    pub(crate) fn name_of(number: i32) -> &'static CStr {
        let code = usize::try_from(number).ok().and_then(|number| Self::ALL.get(number));
        code.map_or(c"unknown", |code| code.name())
    }

    fn name(self) -> &'static CStr {
        match self {
            Self::BERTHA_OK => c"ok",
            Self::BERTHA_CLOSED => c"closed",
            Self::BERTHA_RESET => c"reset by the peer",
            Self::BERTHA_TIMED_OUT => c"timed out",
            Self::BERTHA_UNREACHABLE => c"unreachable",
            Self::BERTHA_NOT_SENT => c"not sent",
            Self::BERTHA_REFUSED => c"refused",
            Self::BERTHA_VERSION => c"version mismatch",
            Self::BERTHA_UNAUTHENTICATED => c"unauthenticated",
            Self::BERTHA_MALFORMED => c"malformed",
            Self::BERTHA_TOO_LARGE => c"too large",
            Self::BERTHA_EXHAUSTED => c"exhausted",
            Self::BERTHA_ADDRESS_IN_USE => c"address in use",
            Self::BERTHA_UNAVAILABLE => c"unavailable",
            Self::BERTHA_INVALID => c"invalid",
            Self::BERTHA_IO => c"i/o error",
            Self::BERTHA_BAD_HANDLE => c"bad handle",
            Self::BERTHA_BAD_ARGUMENT => c"bad argument",
            Self::BERTHA_WOULD_BLOCK => c"would block",
            Self::BERTHA_FORKED => c"forked",
            Self::BERTHA_PANIC => c"panic",
            Self::BERTHA_END => c"end",
            Self::BERTHA_CALL_FAILED => c"call failed",
            Self::BERTHA_CALL_OVERLOADED => c"call overloaded",
            Self::BERTHA_CALL_TIMED_OUT => c"call timed out",
            Self::BERTHA_CALL_UNKNOWN_METHOD => c"unknown method",
            Self::BERTHA_CALL_MALFORMED => c"call malformed",
            Self::BERTHA_CALL_TOO_LARGE => c"call too large",
            Self::BERTHA_CALL_DISCONNECTED => c"call disconnected",
            Self::BERTHA_CALL_DENIED => c"call denied",
            Self::BERTHA_CALL_UNAVAILABLE => c"service unavailable",
        }
    }
}

impl From<ErrorKind> for Code {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Closed => Self::BERTHA_CLOSED,
            ErrorKind::Reset => Self::BERTHA_RESET,
            ErrorKind::TimedOut => Self::BERTHA_TIMED_OUT,
            ErrorKind::Unreachable => Self::BERTHA_UNREACHABLE,
            ErrorKind::NotSent => Self::BERTHA_NOT_SENT,
            ErrorKind::Refused => Self::BERTHA_REFUSED,
            ErrorKind::Version => Self::BERTHA_VERSION,
            ErrorKind::Unauthenticated => Self::BERTHA_UNAUTHENTICATED,
            ErrorKind::Malformed => Self::BERTHA_MALFORMED,
            ErrorKind::TooLarge => Self::BERTHA_TOO_LARGE,
            ErrorKind::Exhausted => Self::BERTHA_EXHAUSTED,
            ErrorKind::AddrInUse => Self::BERTHA_ADDRESS_IN_USE,
            ErrorKind::Unavailable => Self::BERTHA_UNAVAILABLE,
            ErrorKind::Invalid => Self::BERTHA_INVALID,
            _ => Self::BERTHA_IO,
        }
    }
}

/// The kinds of failures of calls, and their codes.
const FAILURES: [(FailureKind, Code); 9] = [
    (FailureKind::Failed, Code::BERTHA_CALL_FAILED),
    (FailureKind::Overloaded, Code::BERTHA_CALL_OVERLOADED),
    (FailureKind::TimedOut, Code::BERTHA_CALL_TIMED_OUT),
    (FailureKind::UnknownMethod, Code::BERTHA_CALL_UNKNOWN_METHOD),
    (FailureKind::Malformed, Code::BERTHA_CALL_MALFORMED),
    (FailureKind::TooLarge, Code::BERTHA_CALL_TOO_LARGE),
    (FailureKind::Disconnected, Code::BERTHA_CALL_DISCONNECTED),
    (FailureKind::Denied, Code::BERTHA_CALL_DENIED),
    (FailureKind::Unavailable, Code::BERTHA_CALL_UNAVAILABLE),
];

impl From<FailureKind> for Code {
    fn from(kind: FailureKind) -> Self {
        FAILURES.iter().find(|(known, _)| *known == kind).map_or(Self::BERTHA_CALL_FAILED, |(_, code)| *code)
    }
}

impl Code {
    /// Returns the kind of failure of a call that has this number.
    pub(crate) fn failure_kind(number: i32) -> Option<FailureKind> {
        FAILURES.iter().find(|(_, code)| *code as i32 == number).map(|(kind, _)| *kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_are_listed_by_their_numbers() {
        for (number, code) in (0..).zip(Code::ALL) {
            assert_eq!(code as i32, number);
            assert_eq!(Code::name_of(number), code.name());
        }
        assert_eq!([Code::name_of(-1), Code::name_of(31)], [c"unknown"; 2]);
    }
}
