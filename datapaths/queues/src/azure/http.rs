//! The HTTP client of the SDK.

use crate::cryptography;
use azure_core::http::{HttpClient, Transport};
use bertha_core::{Error, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Time limit of an answer, which takes milliseconds.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns HTTP with TLS by ring, and the certificates that the system trusts.
pub(crate) fn transport() -> Result<Transport, Error> {
    cryptography::install();
    let client = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(ANSWER_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|error| {
            Error::new(ErrorKind::Invalid, format!("no HTTP client can be made: {error}"))
                .because(error)
                .at("AzureQueue")
        })?;
    let client: Arc<dyn HttpClient> = Arc::new(client);
    Ok(Transport::new(client))
}
