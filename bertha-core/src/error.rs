//! The one error type of connections, Chunnels and datapaths.

use std::borrow::Cow;
use std::fmt;

/// What went wrong, so that a caller can decide what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The peer closed the connection, or this end did. Nothing more will arrive.
    Closed,
    /// The peer no longer knows this connection: it restarted, or gave up on it. Connect again.
    Reset,
    /// Nothing was heard from the peer for as long as the caller was prepared to wait.
    TimedOut,
    /// The address does not answer: port closed, no route, no such socket.
    Unreachable,
    /// The two ends have no stack that both can run; the text names the Chunnel and the reason.
    Refused,
    /// The two ends speak different versions of the negotiation protocol.
    Version,
    /// The other end could not show that it has the key that it should have, or asks for one that this end lacks.
    Unauthenticated,
    /// Bytes that do not follow the format that was agreed.
    Malformed,
    /// A message is larger than what is below can carry.
    TooLarge,
    /// A bounded resource (buffers, queue, table) is used up.
    Exhausted,
    /// What was asked for does not exist in this build or on this machine.
    Unavailable,
    /// The address to listen on is in use, by this process or by another. Retry when it is free, or listen on another.
    AddrInUse,
    /// The caller asked for something that makes no sense; retrying will not help.
    Invalid,
    /// The operating system reported an error that has no kind of its own here.
    Io,
}

impl ErrorKind {
    /// Whether such an error of `send` or `recv` concerns one message, and the connection goes on.
    pub fn is_of_one_message(self) -> bool {
        matches!(self, Self::TooLarge | Self::Malformed | Self::Exhausted)
    }

    /// Whether the connection below may go on after such an error of its `send` or `recv`: those of one message, and
    /// [`Unreachable`](Self::Unreachable), since a closed port may open, and what says that it is closed may be forged.
    pub fn may_pass(self) -> bool {
        self.is_of_one_message() || self == Self::Unreachable
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "closed",
            Self::Reset => "reset by the peer",
            Self::TimedOut => "timed out",
            Self::Unreachable => "unreachable",
            Self::Refused => "refused",
            Self::Version => "version mismatch",
            Self::Unauthenticated => "unauthenticated",
            Self::Malformed => "malformed",
            Self::TooLarge => "too large",
            Self::Exhausted => "exhausted",
            Self::Unavailable => "unavailable",
            Self::AddrInUse => "address in use",
            Self::Invalid => "invalid",
            Self::Io => "i/o error",
        })
    }
}

/// An error of a connection, a Chunnel or a datapath: its kind, where it arose, what was wrong, and its source.
///
/// One pointer wide, so that a `Result<(), Error>` travels in a register on the message path.
///
/// ```
/// use bertha_core::{Error, ErrorKind};
/// let error = Error::new(ErrorKind::TooLarge, "message of 70000 bytes, at most 65507 fit").at("Serialize");
/// assert_eq!(error.kind(), ErrorKind::TooLarge);
/// assert_eq!(error.to_string(), "Serialize: too large: message of 70000 bytes, at most 65507 fit");
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    chunnel: Option<&'static str>,
    context: Cow<'static, str>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error of `kind`; `context` says what, where and what to do, in lower case and without a full stop.
    #[cold]
    pub fn new(kind: ErrorKind, context: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner { kind, chunnel: None, context: context.into(), source: None }))
    }

    /// Names the Chunnel or datapath in which the error arose, unless one below already did.
    #[must_use]
    pub fn at(mut self, chunnel: &'static str) -> Self {
        self.0.chunnel.get_or_insert(chunnel);
        self
    }

    /// Keeps `source` as the cause.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// The kind, for deciding what to do.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The Chunnel or datapath in which the error arose, if it is known.
    pub fn chunnel(&self) -> Option<&'static str> {
        self.0.chunnel
    }

    /// What was wrong, without kind and place.
    pub fn context(&self) -> &str {
        &self.0.context
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(chunnel) = self.0.chunnel {
            write!(f, "{chunnel}: ")?;
        }
        write!(f, "{}: {}", self.0.kind, self.0.context)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        let mut source = std::error::Error::source(self);
        while let Some(cause) = source {
            write!(f, ": {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.source {
            Some(source) => Some(&**source),
            None => None,
        }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        use std::io::ErrorKind as Io;
        let kind = match error.kind() {
            Io::ConnectionRefused | Io::HostUnreachable | Io::NetworkUnreachable | Io::NotFound => {
                ErrorKind::Unreachable
            }
            Io::ConnectionReset => ErrorKind::Reset,
            Io::ConnectionAborted | Io::BrokenPipe | Io::NotConnected | Io::UnexpectedEof => {
                ErrorKind::Closed
            }
            Io::TimedOut => ErrorKind::TimedOut,
            Io::AddrInUse => ErrorKind::AddrInUse,
            Io::InvalidInput | Io::InvalidData | Io::AddrNotAvailable => ErrorKind::Invalid,
            Io::Unsupported => ErrorKind::Unavailable,
            Io::OutOfMemory => ErrorKind::Exhausted,
            _ => ErrorKind::Io,
        };
        Self::new(kind, error.to_string()).because(error)
    }
}
