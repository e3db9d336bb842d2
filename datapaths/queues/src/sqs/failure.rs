//! Errors of the SDK, by kind.

use crate::causes;
use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_sqs::config::http::HttpResponse;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use bertha_core::{Error, ErrorKind};

type Source = Box<dyn std::error::Error + Send + Sync>;

/// The error of a call.
pub(crate) enum Failure {
    /// The credentials are missing or refused.
    Refused { text: String, source: Source },
    /// All other errors.
    Other(Error),
}

/// Codes of a throttled service. HTTP 429 and 5xx have this meaning too.
const THROTTLED: &[&str] = &[
    "AWS.SimpleQueueService.OverLimit",
    "InternalError",
    "InternalFailure",
    "KMSThrottling",
    "KmsThrottled",
    "OverLimit",
    "RequestLimitExceeded",
    "RequestThrottled",
    "ServiceUnavailable",
    "SlowDown",
    "Throttled",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
];

/// Codes about credentials and permissions. HTTP 401 and 403 have this meaning too, unless the code is in the
/// list above.
const REFUSED: &[&str] = &[
    "AccessDenied",
    "AccessDeniedException",
    "AuthFailure",
    "AuthorizationError",
    "ExpiredToken",
    "ExpiredTokenException",
    "IncompleteSignature",
    "InvalidAccessKeyId",
    "InvalidClientTokenId",
    "InvalidSecurity",
    "InvalidSignatureException",
    "MissingAuthenticationToken",
    "NotAuthorized",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
];

const TOO_LARGE: &[&str] =
    &["AWS.SimpleQueueService.BatchRequestTooLong", "BatchRequestTooLong", "MessageTooLong"];

/// Returns the kind for a code of the service and the status of its answer.
pub(crate) fn kind(code: &str, text: &str, status: u16) -> ErrorKind {
    if THROTTLED.contains(&code) || status == 429 || status >= 500 {
        ErrorKind::Exhausted
    } else if REFUSED.contains(&code) || status == 401 || status == 403 {
        ErrorKind::Unauthenticated
    } else if TOO_LARGE.contains(&code)
        || text.contains("must be shorter than")
        || text.contains("Message too long")
    {
        ErrorKind::TooLarge
    } else {
        ErrorKind::Invalid
    }
}

/// Returns the error of the call that needs the permission `call`.
pub(crate) fn failure<E>(call: &str, error: SdkError<E, HttpResponse>) -> Failure
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    let kind = match (&error, error.raw_response()) {
        (SdkError::ServiceError(answer), Some(raw)) => {
            let meta = answer.err();
            kind(meta.code().unwrap_or_default(), meta.message().unwrap_or_default(), raw.status().as_u16())
        }
        // The answer does not come from the service, but from a server in between.
        (_, Some(raw)) => kind("", "", raw.status().as_u16()),
        (SdkError::ConstructionFailure(_), None) => ErrorKind::Invalid,
        // The credentials were not found, or their provider does not answer.
        _ if causes::find::<CredentialsError>(&error).is_some() => ErrorKind::Unauthenticated,
        _ => ErrorKind::Unreachable,
    };
    let text = format!("{call} failed: {}", text(&error));
    if kind == ErrorKind::Unauthenticated {
        return Failure::Refused { text, source: Box::new(error) };
    }
    Failure::Other(Error::new(kind, text).because(error).at("Sqs"))
}

/// Returns the error of an entry of a batch.
pub(crate) fn entry_error(call: &str, code: &str, message: Option<&str>, is_senders: bool) -> Error {
    let message = message.unwrap_or_default();
    // Failures of the service itself pass.
    let status = if is_senders { 400 } else { 500 };
    Error::new(kind(code, message, status), format!("{call} failed for one message: {code}: {message}"))
        .at("Sqs")
}

/// Returns code and message of the service, or the chain of causes of an earlier failure.
fn text<E>(error: &SdkError<E, HttpResponse>) -> String
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    if let SdkError::ServiceError(answer) = error
        && let Some(code) = answer.err().code()
    {
        return format!("{code}: {}", answer.err().message().unwrap_or("no further text"));
    }
    let mut parts = Vec::new();
    let mut next: Option<&dyn std::error::Error> = Some(error);
    while let Some(cause) = next {
        parts.push(cause.to_string());
        next = cause.source();
    }
    parts.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_services_are_asked_again() {
        assert_eq!(kind("RequestThrottled", "", 400), ErrorKind::Exhausted);
        assert_eq!(kind("ThrottlingException", "", 403), ErrorKind::Exhausted);
        assert_eq!(kind("", "", 429), ErrorKind::Exhausted);
        assert_eq!(kind("", "", 503), ErrorKind::Exhausted);
    }

    #[test]
    fn refused_credentials_are_no_temporary_error() {
        assert_eq!(kind("InvalidClientTokenId", "", 403), ErrorKind::Unauthenticated);
        assert_eq!(kind("AccessDenied", "", 400), ErrorKind::Unauthenticated);
        assert_eq!(kind("", "", 403), ErrorKind::Unauthenticated);
    }

    #[test]
    fn what_the_service_does_not_understand_is_invalid() {
        assert_eq!(kind("QueueDoesNotExist", "", 400), ErrorKind::Invalid);
        assert_eq!(
            kind(
                "InvalidParameterValue",
                "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes.",
                400
            ),
            ErrorKind::TooLarge
        );
    }
}
