//! The HTTP client of the SDK.

use crate::cryptography;
use azure_core::http::{HttpClient, Transport};
use bertha_core::{Error, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Time for which a connection is kept without a request. A server that closes a connection just when a request leaves fails the
/// request, so the time is well below those of servers: five seconds for Node.js, on which Azurite runs.
const KEPT: Duration = Duration::from_secs(2);

/// Time limit of an answer, which takes milliseconds.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns HTTP with TLS by ring, and the certificates that the system trusts.
pub(crate) fn transport() -> Result<Transport, Error> {
    cryptography::install();
    let client = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(ANSWER_TIMEOUT)
        .pool_idle_timeout(KEPT)
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
