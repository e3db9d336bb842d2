//! Errors of NATS, as errors of a queue.

use crate::causes;
use async_nats::jetstream::context::{
    CreateStreamError, CreateStreamErrorKind, GetStreamError, GetStreamErrorKind, PublishError,
    PublishErrorKind,
};
use async_nats::jetstream::stream::{ConsumerError, ConsumerErrorKind};
use async_nats::jetstream::{Error as Answer, ErrorCode};
use async_nats::{ConnectErrorKind, rustls};
use bertha_core::{Error, ErrorKind};
use std::borrow::Cow;

pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

pub(crate) fn invalid(what: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::Invalid, what).at("Nats")
}

/// Returns the error for a missing answer, or for a request that could not be sent.
pub(crate) fn unreachable(cause: impl Into<Cause>) -> Error {
    let cause = cause.into();
    Error::new(ErrorKind::Unreachable, format!("the server does not answer; is it running? ({cause})"))
        .at("Nats")
        .because(cause)
}

/// Returns the error for a server that denies the user a permission.
pub(crate) fn forbidden(text: &str) -> Error {
    let advice = "the user may not do this; give it the right to publish to and subscribe to the topic's subjects, `$JS.API.>`, `$JS.ACK.>` and `_INBOX.>`";
    Error::new(ErrorKind::Unauthenticated, format!("{advice} ({text})")).at("Nats")
}

/// Returns the error for a server that does not accept the client's credentials any more.
#[cold]
pub(crate) fn no_login(text: &str) -> Error {
    let what = "the server does not accept the credentials any more; connect with the credentials of now";
    Error::new(ErrorKind::Unauthenticated, format!("{what} ({text})")).at("Nats")
}

const NO_TLS: &str = "no TLS with the server; has an authority that this system trusts, or one in the options, signed its certificate for this address, and does it trust that of this end, if it wants one?";

pub(crate) fn of_connecting(error: async_nats::ConnectError, credentials: &str) -> Error {
    let (kind, what) = match error.kind() {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => (
            ErrorKind::Unauthenticated,
            format!(
                "the server does not accept {credentials}; put user:password@ into the address, or the path of a credentials file into NATS_CREDS"
            ),
        ),
        ConnectErrorKind::Tls => (ErrorKind::Unauthenticated, NO_TLS.to_owned()),
        // To the client library, an untrusted certificate is a failure of the socket.
        ConnectErrorKind::Io if causes::find::<rustls::Error>(&error).is_some() => {
            (ErrorKind::Unauthenticated, NO_TLS.to_owned())
        }
        ConnectErrorKind::ServerParse => {
            (ErrorKind::Invalid, "the address has to be nats://host:port or tls://host:port".to_owned())
        }
        ConnectErrorKind::Dns => (ErrorKind::Unreachable, "the server's name has no address".to_owned()),
        _ => (ErrorKind::Unreachable, "the server does not answer; is it running?".to_owned()),
    };
    Error::new(kind, format!("{what} ({error})")).at("Nats").because(error)
}

pub(crate) fn of_publishing(error: PublishError) -> Error {
    let (kind, what) = match error.kind() {
        PublishErrorKind::MaxPayloadExceeded => {
            (ErrorKind::TooLarge, "the message exceeds the server's max_payload")
        }
        PublishErrorKind::StreamNotFound => {
            (ErrorKind::Invalid, "no stream takes messages of this topic; create it, or switch JetStream on")
        }
        PublishErrorKind::MaxAckPending => (ErrorKind::Exhausted, "too many messages are on their way"),
        PublishErrorKind::TimedOut | PublishErrorKind::BrokenPipe => {
            (ErrorKind::Unreachable, "the server has not confirmed the message")
        }
        _ => return of_answer(error),
    };
    Error::new(kind, format!("{what} ({error})")).at("Nats").because(error)
}

/// A failed call of JetStream's API, whose error contains the server's answer.
pub(crate) trait Answered: std::error::Error + Send + Sync + 'static {
    fn answer(&self) -> Option<Answer>;
}

impl Answered for GetStreamError {
    fn answer(&self) -> Option<Answer> {
        if let GetStreamErrorKind::JetStream(answer) = self.kind() { Some(answer) } else { None }
    }
}

impl Answered for CreateStreamError {
    fn answer(&self) -> Option<Answer> {
        if let CreateStreamErrorKind::JetStream(answer) = self.kind() { Some(answer) } else { None }
    }
}

impl Answered for ConsumerError {
    fn answer(&self) -> Option<Answer> {
        if let ConsumerErrorKind::JetStream(answer) = self.kind() { Some(answer) } else { None }
    }
}

impl Answered for PublishError {
    fn answer(&self) -> Option<Answer> {
        std::error::Error::source(self)?.downcast_ref().cloned()
    }
}

pub(crate) fn of_answer(error: impl Answered) -> Error {
    let Some(answer) = error.answer() else {
        return Error::new(
            ErrorKind::Unreachable,
            format!("the server does not answer; does it run, with JetStream? ({error})"),
        )
        .at("Nats")
        .because(error);
    };
    let kind = match answer.error_code() {
        ErrorCode::INSUFFICIENT_RESOURCES
        | ErrorCode::ACCOUNT_RESOURCES_EXCEEDED
        | ErrorCode::STORAGE_RESOURCES_EXCEEDED
        | ErrorCode::MEMORY_RESOURCES_EXCEEDED => ErrorKind::Exhausted,
        ErrorCode::STREAM_MESSAGE_EXCEEDS_MAXIMUM => ErrorKind::TooLarge,
        // The topic is full.
        ErrorCode::STREAM_STORE_FAILED => ErrorKind::Exhausted,
        _ if matches!(answer.code(), 429 | 503) => ErrorKind::Unreachable,
        _ => ErrorKind::Invalid,
    };
    Error::new(kind, format!("the server refuses: {answer}")).at("Nats").because(error)
}
