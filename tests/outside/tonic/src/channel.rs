//! The client's end.

use crate::Transport;
use bertha::{Connection, Error, core::Chunk};
use hyper_util::rt::TokioIo;
use tonic::transport::{Channel, Endpoint, Uri};
use tower::service_fn;

/// A channel whose connections `connect` makes: the first one now, and another when that has ended.
///
/// # Errors
/// Those of `connect`, and of the HTTP/2 handshake.
pub async fn channel<C, F>(connect: impl Fn() -> F + Send + 'static) -> Result<Channel, tonic::transport::Error>
where
    C: Connection<Data = Chunk>,
    F: Future<Output = Result<C, Error>> + Send + 'static,
{
    let connector = service_fn(move |_: Uri| {
        let connecting = connect();
        async move { Ok::<_, Error>(TokioIo::new(Transport::new(connecting.await?))) }
    });
    // The name is what servers see as authority; the connector knows the way.
    Endpoint::from_static("http://bertha.example").connect_with_connector(connector).await
}
