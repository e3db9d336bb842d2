//! The one error type of connections, Chunnels and datapaths.

use std::borrow::Cow;
use std::fmt;

/// The kind of an error, which decides what a caller can do about it. [`Error::ends_connection`] tells for each single error
/// if the connection has ended with it; the second column holds unless the layer below knows better.
///
/// | kind | the connection | what to do |
/// |---|---|---|
/// | [`TooLarge`](Self::TooLarge), [`Malformed`](Self::Malformed) | goes on | give up this message, which fails again |
/// | [`Exhausted`](Self::Exhausted) | goes on | retry after a pause |
/// | [`NotSent`](Self::NotSent) | goes on | retry after a pause; look at routes, interfaces and the firewall of this machine |
/// | [`Unreachable`](Self::Unreachable) | goes on | retry after a pause, or try another address |
/// | [`Reset`](Self::Reset), [`TimedOut`](Self::TimedOut), [`Closed`](Self::Closed) | has ended | connect again |
/// | [`Refused`](Self::Refused), [`Version`](Self::Version), [`Unauthenticated`](Self::Unauthenticated) | was not made | give up: the stack, release or key of one end has to change |
/// | [`AddrInUse`](Self::AddrInUse) | was not made | take another address, or retry when its owner is gone |
/// | [`Unavailable`](Self::Unavailable), [`Invalid`](Self::Invalid) | has ended, or was not made | give up: the call, the configuration or the machine has to change |
/// | [`Io`](Self::Io) | has ended | look at the text; connect again |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// One of the ends closed the connection in order: nothing more arrives, and nothing that the peer sent before is missing
    /// unless the stack may lose messages anyway.
    Closed,
    /// The connection was cut: the peer restarted, gave up on the connection, or dropped its end without closing it. Messages of
    /// either end may be missing.
    Reset,
    /// The peer did not answer in time.
    TimedOut,
    /// The address does not answer: the port is closed, or there is no such socket.
    Unreachable,
    /// This machine did not send the message, or no route leads to the host: routes, interfaces, the firewall, or a neighbour that
    /// does not answer, perhaps for a moment.
    NotSent,
    /// The two ends have no stack that both can run; the text names the Chunnel and the reason.
    Refused,
    /// The two ends speak different versions of the negotiation protocol.
    Version,
    /// The other end did not prove that it has the right key, or requires a key that this end lacks.
    Unauthenticated,
    /// Bytes that do not follow the agreed format.
    Malformed,
    /// A message, with the headers of the layers below, exceeds the limit of a layer or the room in its
    /// buffer.
    TooLarge,
    /// A bounded resource (buffers, queue, table) is used up for the moment.
    Exhausted,
    /// The address to listen at belongs to another socket.
    AddrInUse,
    /// This build or this machine does not have the feature.
    Unavailable,
    /// The call or the configuration makes no sense; the same call fails again.
    Invalid,
    /// An error of the operating system for which there is no other kind.
    Io,
}

impl ErrorKind {
    /// Returns true if an error of this kind ends the connection unless a layer says otherwise.
    fn usually_ends_connection(self) -> bool {
        let passing = [Self::TooLarge, Self::Malformed, Self::Exhausted, Self::NotSent, Self::Unreachable];
        !passing.contains(&self)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "closed",
            Self::Reset => "reset by the peer",
            Self::TimedOut => "timed out",
            Self::Unreachable => "unreachable",
            Self::NotSent => "not sent",
            Self::Refused => "refused",
            Self::Version => "version mismatch",
            Self::Unauthenticated => "unauthenticated",
            Self::Malformed => "malformed",
            Self::TooLarge => "too large",
            Self::Exhausted => "exhausted",
            Self::AddrInUse => "address in use",
            Self::Unavailable => "unavailable",
            Self::Invalid => "invalid",
            Self::Io => "i/o error",
        })
    }
}

/// An error of a connection, a Chunnel or a datapath: its kind, the layer in which it arose, a text, its
/// cause, and a flag that is true if the connection has ended with the error.
///
/// `{}` shows layer, kind and text in one line; `{:?}` adds the causes. [`source`](std::error::Error::source) begins with the
/// first cause that the text does not contain yet, so a printer that walks the chain shows each cause once.
///
/// The type is one pointer wide, so that a `Result<(), Error>` travels in a register on the message path.
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
    ends_connection: bool,
    chunnel: Option<&'static str>,
    context: Cow<'static, str>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// Makes an error of `kind`. `context` describes the failure and a remedy, in lower case and without a
    /// full stop.
    ///
    /// The error ends the connection if [most errors of its kind](ErrorKind) do;
    /// [`ending_connection`](Self::ending_connection) and [`sparing_connection`](Self::sparing_connection) say otherwise.
    #[cold]
    pub fn new(kind: ErrorKind, context: impl Into<Cow<'static, str>>) -> Self {
        let ends_connection = kind.usually_ends_connection();
        Self(Box::new(Inner { kind, ends_connection, chunnel: None, context: context.into(), source: None }))
    }

    /// Makes an error for a file of this machine that can't be used. `action` says what for and which file: `cannot read
    /// /etc/ca.pem`.
    ///
    /// A file that is missing, or that this process may not open, is [`Invalid`](ErrorKind::Invalid): no peer is
    /// involved, and a later call fails in the same way.
    #[cold]
    pub fn of_file(action: impl fmt::Display, error: std::io::Error) -> Self {
        use std::io::ErrorKind as Io;
        let lasting = [Io::NotFound, Io::PermissionDenied, Io::IsADirectory, Io::NotADirectory];
        let is_lasting = lasting.contains(&error.kind());
        let error = Self::from(error);
        let kind = if is_lasting { ErrorKind::Invalid } else { error.kind() };
        Self::new(kind, format!("{action}: {}", error.context())).because(error)
    }

    /// Records that the connection has ended with this error: every later call fails at once.
    #[must_use]
    pub fn ending_connection(mut self) -> Self {
        self.0.ends_connection = true;
        self
    }

    /// Records that the connection goes on after this error: a later call may succeed.
    #[must_use]
    pub fn sparing_connection(mut self) -> Self {
        self.0.ends_connection = false;
        self
    }

    /// Returns the error with another text, and the original error as its cause.
    #[must_use]
    pub fn retold(self, context: impl Into<Cow<'static, str>>) -> Self {
        let Inner { kind, ends_connection, chunnel, .. } = *self.0;
        Self(Box::new(Inner {
            kind,
            ends_connection,
            chunnel,
            context: context.into(),
            source: Some(Box::new(self)),
        }))
    }

    /// Names the Chunnel or datapath in which the error arose, unless a layer below already named itself.
    #[must_use]
    pub fn at(mut self, chunnel: &'static str) -> Self {
        self.0.chunnel.get_or_insert(chunnel);
        self
    }

    /// Adds the cause. If `context` contains the cause's text, the text is not shown again.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Returns the kind, which decides what a caller can do.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns true if the connection has ended with this error, so that every later call of it fails at once with an error
    /// that says the same. Otherwise the error concerns one message, or a state that may pass, and the connection goes on.
    ///
    /// A loop over [`recv`](crate::Connection::recv) ends with an error that ends the connection, and goes on after any
    /// other.
    pub fn ends_connection(&self) -> bool {
        self.0.ends_connection
    }

    /// Returns the Chunnel or datapath in which the error arose, if it is known.
    pub fn chunnel(&self) -> Option<&'static str> {
        self.0.chunnel
    }

    /// Returns the text without kind and layer.
    pub fn context(&self) -> &str {
        &self.0.context
    }

    /// Returns the number that the system has given the error, such as `ENETUNREACH`, if it comes from there. The kinds are coarser.
    pub fn os_error(&self) -> Option<i32> {
        let mut next = self.cause();
        while let Some(cause) = next {
            if let Some(number) = cause.downcast_ref().and_then(std::io::Error::raw_os_error) {
                return Some(number);
            }
            next = cause.downcast_ref::<Self>().map_or_else(|| cause.source(), Self::cause);
        }
        None
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

/// Shows the line of `{}`, followed by each cause that the line does not contain.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.to_string();
        let mut next = self.cause();
        while let Some(cause) = next {
            let text = text_of(cause);
            if !shown.contains(&text) {
                shown.push_str(": ");
                shown.push_str(&text);
            }
            next = cause.source();
        }
        f.write_str(&shown)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let shown = self.to_string();
        let mut next = self.cause();
        while let Some(cause) = next.filter(|cause| shown.contains(&text_of(*cause))) {
            next = cause.source();
        }
        next
    }
}

impl Error {
    fn cause(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.source {
            Some(source) => Some(&**source),
            None => None,
        }
    }
}

/// Returns the text of a cause, without the kind, which shows in front of the whole chain.
fn text_of(cause: &(dyn std::error::Error + 'static)) -> String {
    cause.downcast_ref::<Error>().map_or_else(|| cause.to_string(), |error| error.context().to_owned())
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error as _;
    use std::io;

    /// Returns the line of a program that prints an error and its chain of sources.
    fn printed(error: &Error) -> String {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            source = cause.source();
        }
        text
    }

    fn refused() -> io::Error {
        io::Error::from_raw_os_error(111)
    }

    #[test]
    fn an_error_of_the_system_is_shown_once() {
        let line = "unreachable: Connection refused (os error 111)";
        let error = Error::from(refused());
        assert_eq!([error.to_string(), format!("{error:?}"), printed(&error)], [line; 3]);
    }

    #[test]
    fn the_number_of_the_system_is_found_below_other_errors() {
        let below = Error::from(refused());
        assert_eq!(below.os_error(), Some(111));
        let above = Error::new(ErrorKind::Closed, below.context().to_owned()).because(below);
        assert_eq!(above.retold("told again").os_error(), Some(111));
        assert_eq!(Error::new(ErrorKind::Closed, "of our own").os_error(), None);
    }

    #[test]
    fn a_cause_within_the_text_is_shown_once() {
        let below = Error::from(refused());
        let text = format!("cannot connect to 10.0.0.1:4242: {}", below.context());
        let error = Error::new(below.kind(), text).at("UdpSocket").because(below);
        let line =
            "UdpSocket: unreachable: cannot connect to 10.0.0.1:4242: Connection refused (os error 111)";
        assert_eq!([error.to_string(), format!("{error:?}"), printed(&error)], [line; 3]);
    }

    #[test]
    fn causes_that_the_text_lacks_follow_in_order() {
        let inner = Error::new(ErrorKind::Io, "the disk is full").because(io::Error::other("no space"));
        let error = Error::new(ErrorKind::Closed, "nothing is stored").because(inner);
        assert_eq!(error.to_string(), "closed: nothing is stored");
        assert_eq!(format!("{error:?}"), "closed: nothing is stored: the disk is full: no space");
        assert_eq!(printed(&error), "closed: nothing is stored: i/o error: the disk is full: no space");
    }

    #[test]
    fn a_cause_between_two_that_are_shown_already_is_kept() {
        let middle = Error::new(ErrorKind::Io, "the cache is lost").because(io::Error::other("no space"));
        let error = Error::new(ErrorKind::Io, "nothing is stored: no space").because(middle);
        assert_eq!(format!("{error:?}"), "i/o error: nothing is stored: no space: the cache is lost");
    }

    #[test]
    fn a_layer_says_whether_the_connection_has_ended() {
        let error = |kind| Error::new(kind, "what");
        for kind in [ErrorKind::Closed, ErrorKind::Reset, ErrorKind::TimedOut, ErrorKind::Io] {
            assert!(error(kind).ends_connection());
            assert!(!error(kind).sparing_connection().ends_connection());
        }
        for kind in [ErrorKind::Malformed, ErrorKind::TooLarge, ErrorKind::Exhausted, ErrorKind::NotSent] {
            assert!(!error(kind).ends_connection());
            let ended = error(kind).ending_connection().at("Here");
            assert!(ended.ends_connection());
            let retold = ended.retold("more");
            assert!(retold.ends_connection());
            assert_eq!(format!("{retold:?}"), format!("Here: {kind}: more: what"));
        }
    }

    #[test]
    fn a_missing_file_is_a_mistake_and_no_peer_that_is_away() {
        let opened = |path| std::fs::File::open(path).map(drop).unwrap_err();
        let error = Error::of_file("cannot read /nowhere", opened("/nowhere"));
        assert_eq!(
            error.to_string(),
            "invalid: cannot read /nowhere: No such file or directory (os error 2)"
        );
        assert_eq!(Error::of_file("cannot write x", io::Error::from_raw_os_error(28)).kind(), ErrorKind::Io);
        // A socket that is not there is a peer that is away.
        assert_eq!(Error::from(opened("/nowhere")).kind(), ErrorKind::Unreachable);
    }

    #[test]
    fn an_address_in_use_has_its_kind() {
        let first = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let second = std::net::UdpSocket::bind(first.local_addr().unwrap()).unwrap_err();
        assert_eq!(Error::from(second).kind(), ErrorKind::AddrInUse);
    }
}
