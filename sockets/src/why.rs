//! Reasons for which a stream goes back to the kernel, for a person who asks.

/// What was done to a socket that a ring has no answer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Urgent data were sent, or asked for.
    Urgent = 1,
    /// An option was set.
    Option,
    /// Signals were asked for.
    Signals,
    /// Bytes were moved between descriptors.
    Spliced,
    /// A call for many messages came before there was a ring.
    Many,
    /// The descriptor was passed on in a message.
    Passed,
    /// A program was started that gets the socket.
    Started,
    /// A stream of stdio was opened.
    Stream,
    /// A set of epoll has the socket in a way that the kernel alone can serve.
    Watched,
    /// The process has made an io_uring.
    Uring,
    /// The connection was cut.
    Cut,
    /// The socket was connected again.
    Connected,
}

impl Why {
    const ALL: [Self; 12] = [
        Self::Urgent,
        Self::Option,
        Self::Signals,
        Self::Spliced,
        Self::Many,
        Self::Passed,
        Self::Started,
        Self::Stream,
        Self::Watched,
        Self::Uring,
        Self::Cut,
        Self::Connected,
    ];

    /// Returns the reason of a number.
    pub fn of(number: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|why| *why as u64 == number)
    }

    /// Returns the words for it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Urgent => "urgent data",
            Self::Option => "an option that a ring has not",
            Self::Signals => "signals for input",
            Self::Spliced => "splice or sendfile",
            Self::Many => "recvmmsg, sendmmsg or splice before there was a ring",
            Self::Passed => "the descriptor was passed on",
            Self::Started => "a program was started that gets the socket",
            Self::Stream => "fdopen",
            Self::Watched => "a set of epoll that the kernel alone can serve",
            Self::Uring => "an io_uring",
            Self::Cut => "the connection was cut",
            Self::Connected => "connect was called again",
        }
    }
}
