//! The connection to the service, and the common part of all calls.

use super::failure::{failure, no_token};
use bertha_core::{Error, ErrorKind};
use gcloud_googleapis::pubsub::v1::publisher_client::PublisherClient;
use gcloud_googleapis::pubsub::v1::subscriber_client::SubscriberClient;
use google_cloud_auth::credentials::{CacheableResource, Credentials};
use std::future::Future;
use std::time::Duration;
use tonic::codegen::http::Extensions;
use tonic::metadata::{AsciiMetadataValue, MetadataMap};
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Response, Status};

/// Bound on the bytes of an answer, more than the longest: the messages of a call, and what surrounds them.
const LONGEST_ANSWER: usize = 32 << 20;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Time limit of an answer, which takes milliseconds.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Interval of probes on an idle connection, by which a lost connection is noticed.
const PROBE: Duration = Duration::from_secs(30);

/// The address of the service, and the way of talking to it.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    endpoint: Endpoint,
    credentials: Option<Credentials>,
}

impl Server {
    /// Creates the server at `address`, with TLS if it is `https://..`.
    pub(crate) fn new(address: &str, credentials: Option<Credentials>) -> Result<Self, Error> {
        let invalid = |error: tonic::transport::Error| {
            Error::new(ErrorKind::Invalid, format!("{address:?} is no address of Pub/Sub: {error}"))
                .because(error)
                .at("PubSub")
        };
        let mut endpoint = Endpoint::from_shared(address.to_owned())
            .map_err(invalid)?
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(PROBE);
        if address.starts_with("https:") {
            endpoint = endpoint.tls_config(ClientTlsConfig::new().with_native_roots()).map_err(invalid)?;
        }
        Ok(Self { endpoint, credentials })
    }

    /// Returns a client with a connection of its own, which is opened at its first use, and again when it was
    /// lost. On a shared connection, waiting calls would keep other calls from being made.
    pub(crate) fn client(&self) -> Client {
        Client { channel: self.endpoint.connect_lazy(), credentials: self.credentials.clone() }
    }
}

/// A connection to the service.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    channel: Channel,
    credentials: Option<Credentials>,
}

impl Client {
    pub(crate) fn publisher(&self) -> PublisherClient<Channel> {
        PublisherClient::new(self.channel.clone())
            .max_decoding_message_size(LONGEST_ANSWER)
            .max_encoding_message_size(LONGEST_ANSWER)
    }

    pub(crate) fn subscriber(&self) -> SubscriberClient<Channel> {
        SubscriberClient::new(self.channel.clone())
            .max_decoding_message_size(LONGEST_ANSWER)
            .max_encoding_message_size(LONGEST_ANSWER)
    }

    /// Makes a call about the resource `name`, within `limit`. Its error is a status if the service answered.
    pub(crate) async fn call<T, A, F>(
        &self,
        name: &str,
        message: T,
        limit: Duration,
        call: impl FnOnce(Request<T>) -> F,
    ) -> Result<Result<A, Status>, Error>
    where
        F: Future<Output = Result<Response<A>, Status>>,
    {
        let mut request = Request::new(message);
        if let Some(credentials) = &self.credentials {
            match credentials.headers(Extensions::new()).await {
                Ok(CacheableResource::New { data, .. }) => {
                    *request.metadata_mut() = MetadataMap::from_headers(data)
                }
                // This happens only with servers that tell which resources they have.
                Ok(CacheableResource::NotModified) => {}
                Err(error) => return Err(no_token(error)),
            }
        }
        // The service routes a call to the region of its resource by this header.
        if let Ok(route) = AsciiMetadataValue::try_from(format!("name={}", name.replace('/', "%2F"))) {
            request.metadata_mut().insert("x-goog-request-params", route);
        }
        request.set_timeout(limit);
        // The future is boxed, since the futures of stubs are large, and lie in the futures of all layers
        // above.
        Ok(Box::pin(call(request)).await.map(Response::into_inner))
    }

    /// Makes a call as `call` does, and returns an error of the status' kind. `doing` describes the call,
    /// such as "publishing to".
    pub(crate) async fn expect<T, A, F>(
        &self,
        doing: &str,
        name: &str,
        message: T,
        call: impl FnOnce(Request<T>) -> F,
    ) -> Result<A, Error>
    where
        F: Future<Output = Result<Response<A>, Status>>,
    {
        self.call(name, message, ANSWER_TIMEOUT, call)
            .await?
            .map_err(|status| self.failure(doing, name, status))
    }

    pub(crate) fn failure(&self, doing: &str, name: &str, status: Status) -> Error {
        failure(doing, name, self.credentials.is_some(), status)
    }
}
