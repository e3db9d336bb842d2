//! Kinds of messages, and of failures.

/// The kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A request.
    Request,
    /// The caller wants no outcome any more. It can only pass.
    Cancellation,
    /// The response to a request.
    Response,
    /// The reason why there is no response.
    Failure(FailureKind),
}

/// The kind of a failure, which decides what a caller can do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum FailureKind {
    /// The service says that it has failed.
    Failed = 0,
    /// There is no room for the call.
    Overloaded = 1,
    /// No response came before the deadline.
    TimedOut = 2,
    /// The server has no such method.
    UnknownMethod = 3,
    /// A message does not follow the format.
    Malformed = 4,
    /// A message is too large.
    TooLarge = 5,
    /// The connection has ended.
    Disconnected = 6,
    /// The call is not permitted.
    Denied = 7,
    /// The server takes no calls.
    Unavailable = 8,
}

impl FailureKind {
    /// Returns the kind of a number; one that is not known, of a later daemon, is [`Failed`](Self::Failed).
    pub(crate) fn of_code(code: u8) -> Self {
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
