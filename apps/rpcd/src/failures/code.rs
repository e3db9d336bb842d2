//! Codes of failures, as gRPC numbers them.

use bertha_chunnels::rpc::FailureKind;

/// The codes of gRPC that have a meaning here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
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

impl Code {
    /// Returns the code that stands for a number.
    pub(crate) fn of(number: u16) -> Self {
        match number {
            1 => Self::Cancelled,
            3 | 9 | 11 => Self::InvalidArgument,
            4 => Self::DeadlineExceeded,
            5 => Self::NotFound,
            7 | 16 => Self::PermissionDenied,
            8 => Self::ResourceExhausted,
            12 => Self::Unimplemented,
            13 | 15 => Self::Internal,
            14 => Self::Unavailable,
            _ => Self::Unknown,
        }
    }

    pub(crate) fn kind(self) -> FailureKind {
        match self {
            Self::ResourceExhausted => FailureKind::Overloaded,
            Self::DeadlineExceeded => FailureKind::TimedOut,
            Self::Unimplemented => FailureKind::UnknownMethod,
            Self::InvalidArgument => FailureKind::Malformed,
            Self::PermissionDenied => FailureKind::Denied,
            Self::Unavailable => FailureKind::Unavailable,
            Self::Cancelled | Self::Unknown | Self::NotFound | Self::Internal => FailureKind::Failed,
        }
    }

    /// Returns the code that stands for a kind of failure.
    pub(crate) fn of_failure(kind: FailureKind) -> Self {
        match kind {
            FailureKind::Overloaded | FailureKind::TooLarge => Self::ResourceExhausted,
            FailureKind::TimedOut => Self::DeadlineExceeded,
            FailureKind::UnknownMethod => Self::Unimplemented,
            FailureKind::Malformed => Self::InvalidArgument,
            FailureKind::Denied => Self::PermissionDenied,
            FailureKind::Unavailable | FailureKind::Disconnected => Self::Unavailable,
            _ => Self::Unknown,
        }
    }
}
