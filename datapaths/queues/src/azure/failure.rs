//! Errors of the SDK, by kind.

use azure_core::error::ErrorKind as Azure;
use bertha_core::{Error, ErrorKind};

/// Returns the kind for the status and the code of an answer.
fn kind(status: u16, code: &str) -> ErrorKind {
    match status {
        401 | 403 => ErrorKind::Unauthenticated,
        413 => ErrorKind::TooLarge,
        // With 500, the service gave up at its own time limit.
        408 | 429 | 500.. => ErrorKind::Exhausted,
        _ if code == "RequestBodyTooLarge" || code == "MessageTooLarge" => ErrorKind::TooLarge,
        _ => ErrorKind::Invalid,
    }
}

/// Returns the error of a call, such as "sending to the queue orders".
pub(crate) fn failure(call: &str, error: azure_core::Error) -> Error {
    let (kind, text) = match error.kind() {
        Azure::HttpResponse { status, error_code, .. } => {
            let code = error_code.as_deref().unwrap_or("no code");
            let kind = kind(u16::from(*status), code);
            let advice = match kind {
                ErrorKind::Unauthenticated => {
                    "; the shared access signature, or the credential, is wrong, has expired, or lacks the permissions raup on the resource types \
                     sco of the service q; make another, or set AZURE_STORAGE_SAS_TOKEN"
                }
                ErrorKind::Invalid if code == "QueueNotFound" => {
                    "; create the queue, or look at the account's name"
                }
                _ => "",
            };
            (kind, format!("{call} failed: {} {code}{advice}", u16::from(*status)))
        }
        Azure::Connection | Azure::Io => {
            (ErrorKind::Unreachable, format!("{call} failed: {}", causes(&error)))
        }
        Azure::Credential => {
            (ErrorKind::Unauthenticated, format!("{call} failed: no token: {}", causes(&error)))
        }
        Azure::DataConversion => (ErrorKind::Malformed, format!("{call} failed: {}", causes(&error))),
        _ => (ErrorKind::Invalid, format!("{call} failed: {}", causes(&error))),
    };
    // The source is left out: its text contains the address, and so the signature.
    Error::new(kind, text).at("AzureQueue")
}

/// Returns status and code of an answer.
pub(crate) fn answer(error: &azure_core::Error) -> Option<(u16, &str)> {
    match error.kind() {
        Azure::HttpResponse { status, error_code, .. } => {
            Some((u16::from(*status), error_code.as_deref().unwrap_or_default()))
        }
        _ => None,
    }
}

/// Returns the texts of an error and its causes, without queries, which contain signatures.
fn causes(error: &azure_core::Error) -> String {
    let mut parts = Vec::new();
    let mut next: Option<&dyn std::error::Error> = Some(error);
    while let Some(cause) = next {
        parts.push(without_queries(&cause.to_string()));
        next = cause.source();
    }
    parts.join(": ")
}

fn without_queries(text: &str) -> String {
    let mut kept = String::new();
    let mut parts = text.split('?');
    kept.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let end = part.find([' ', ')', '"', '\'']).unwrap_or(part.len());
        kept.push_str(&part[end..]);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_have_kinds() {
        assert_eq!(kind(403, "AuthenticationFailed"), ErrorKind::Unauthenticated);
        assert_eq!(kind(503, "ServerBusy"), ErrorKind::Exhausted);
        assert_eq!(kind(429, ""), ErrorKind::Exhausted);
        assert_eq!(kind(404, "QueueNotFound"), ErrorKind::Invalid);
        assert_eq!(kind(400, "RequestBodyTooLarge"), ErrorKind::TooLarge);
    }

    #[test]
    fn signatures_are_left_out() {
        let text = "error sending request for url (http://h/q?sv=1&sig=secret): refused";
        assert_eq!(without_queries(text), "error sending request for url (http://h/q): refused");
    }
}
