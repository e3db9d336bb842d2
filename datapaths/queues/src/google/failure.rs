//! Errors of the service, by kind.

use bertha_core::{Error, ErrorKind};
use google_cloud_auth::errors::CredentialsError;
use std::error::Error as _;
use tonic::{Code, Status};

/// Returns the kind for a status. `is_local` says that the status comes from this end, since the connection
/// failed.
fn kind(code: Code, text: &str, is_local: bool) -> ErrorKind {
    match code {
        Code::Unauthenticated | Code::PermissionDenied => ErrorKind::Unauthenticated,
        Code::ResourceExhausted => ErrorKind::Exhausted,
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled => ErrorKind::Unreachable,
        // These are failures of the service itself, which pass.
        Code::Aborted | Code::Internal => ErrorKind::Unreachable,
        Code::InvalidArgument | Code::OutOfRange
            if text.contains("too large") || text.contains("too big") =>
        {
            ErrorKind::TooLarge
        }
        _ if is_local => ErrorKind::Unreachable,
        _ => ErrorKind::Invalid,
    }
}

/// Returns the error of a call about the resource `name`.
pub(crate) fn failure(doing: &str, name: &str, has_credentials: bool, status: Status) -> Error {
    let kind = kind(status.code(), status.message(), status.source().is_some());
    let advice = match (kind, status.code()) {
        (ErrorKind::Unauthenticated, _) if has_credentials => {
            "; the service refused the application's credentials: set GOOGLE_APPLICATION_CREDENTIALS, or run `gcloud auth \
             application-default login`, for an account with roles/pubsub.publisher on the topic or roles/pubsub.subscriber on the subscription"
        }
        (ErrorKind::Unauthenticated, _) => {
            "; no credentials were sent, since PUBSUB_EMULATOR_HOST is set or none were given: take PubSub::with_credentials, \
             or GOOGLE_APPLICATION_CREDENTIALS without PUBSUB_EMULATOR_HOST"
        }
        (_, Code::NotFound) => "; create it, or look at the project's name",
        _ => "",
    };
    let text = format!("{doing} {name} failed: {:?}: {}{advice}", status.code(), status.message());
    Error::new(kind, text).because(status).at("PubSub")
}

/// Returns the error for credentials without a token for a call.
pub(crate) fn no_token(error: CredentialsError) -> Error {
    let kind = if error.is_transient() { ErrorKind::Unreachable } else { ErrorKind::Unauthenticated };
    let text = format!(
        "the application's default credentials have no token: {error}; set GOOGLE_APPLICATION_CREDENTIALS, or run `gcloud auth \
         application-default login`"
    );
    Error::new(kind, text).because(error).at("PubSub")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_have_kinds() {
        assert_eq!(kind(Code::ResourceExhausted, "", false), ErrorKind::Exhausted);
        assert_eq!(kind(Code::Unavailable, "", false), ErrorKind::Unreachable);
        assert_eq!(kind(Code::PermissionDenied, "", false), ErrorKind::Unauthenticated);
        assert_eq!(kind(Code::NotFound, "", false), ErrorKind::Invalid);
        assert_eq!(kind(Code::InvalidArgument, "message is too large", false), ErrorKind::TooLarge);
        assert_eq!(kind(Code::Unknown, "transport error", true), ErrorKind::Unreachable);
        assert_eq!(kind(Code::Unknown, "", false), ErrorKind::Invalid);
    }
}
