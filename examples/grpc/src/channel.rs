//! Channels of tonic's clients.

use bertha::io::ByteStream;
use bertha::{Chunk, Connection, Error};
use hyper_util::rt::TokioIo;
use tonic::transport::{Channel, Endpoint};
use tower::service_fn;

/// Returns a channel over connections that `connect` opens: the first connection now, and another whenever
/// the channel's connection has ended.
///
/// # Errors
/// Fails if the first connection can't be opened.
pub async fn channel<C, F>(
    connect: impl Fn() -> F + Clone + Send + 'static,
) -> Result<Channel, tonic::transport::Error>
where
    C: Connection<Data = Chunk>,
    F: Future<Output = Result<C, Error>> + Send + 'static,
{
    let connector = service_fn(move |_| {
        let connecting = connect();
        async move { Ok::<_, Error>(TokioIo::new(ByteStream::new(connecting.await?))) }
    });
    // The name goes into requests, and is never resolved.
    Endpoint::from_static("http://bertha").connect_with_connector(connector).await
}
