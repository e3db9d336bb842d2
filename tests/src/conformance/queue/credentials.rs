//! Credentials that the server refuses.

use super::QueueSite;
use super::scene::message;
use bertha_core::{Connection, Error, ErrorKind};
use bertha_queues::{Service, Topic};

/// Refused credentials are `Unauthenticated`, at once, with a text that says what to do.
pub async fn refused_credentials_are_named<Q: QueueSite>(site: &Q) {
    let Some(client) = site.refused().await else { return };
    let attempt = async {
        match client {
            Ok(service) => first_call(service).await,
            Err(error) => Err(error),
        }
    };
    let outcome = tokio::time::timeout(site.sizes().patience, attempt).await.expect("an answer");
    let error = outcome.expect_err("a call with credentials that the server refuses");
    assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error:?}");
    assert!(error.context().len() > 30, "the error does not say what to do: {error}");
    assert!(!error.context().contains("given up"), "the call was repeated: {error}");
}

/// Makes the calls of a publisher, up to the first that fails.
async fn first_call<S: Service>(service: S) -> Result<(), Error> {
    let topic = Topic::new(service, "conformance-refused");
    topic.create().await?;
    topic.publisher().await?.send(message(1)).await
}
