//! The end of hyper.

use crate::{Error, ErrorKind};
use bertha_core::{Addr, Chunk, Datapath, Listener};
use bertha_datapath_kernel::Tcp;
use bertha_io::ByteStream;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// The body of each response.
pub(super) const BODY: &[u8] = b"Hello, world!";

async fn hello(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::new(Bytes::from_static(BODY))))
}

/// Serves this number of clients until they leave, over tokio's own sockets.
pub(super) async fn over_tokio(clients: usize, tell: oneshot::Sender<SocketAddr>) -> Result<(), Error> {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(failed)?;
    // A client that has given up reports an error of its own.
    let _ = tell.send(listener.local_addr().map_err(failed)?);
    let mut serving = JoinSet::new();
    for _ in 0..clients {
        let (client, _) = listener.accept().await.map_err(failed)?;
        client.set_nodelay(true).map_err(failed)?;
        serving.spawn(serve(client));
    }
    serving.join_all().await.into_iter().collect()
}

/// Serves clients as `over_tokio` does, over connections of Bertha's.
pub(super) async fn over_bertha(clients: usize, tell: oneshot::Sender<SocketAddr>) -> Result<(), Error> {
    let on = Addr::from((Ipv4Addr::LOCALHOST, 0));
    let listener = Datapath::<Chunk>::listen(&Tcp::new().bytes(), on).await.map_err(failed)?;
    let _ = tell.send(listener.local_addr().ip("http").map_err(failed)?);
    let mut serving = JoinSet::new();
    for _ in 0..clients {
        serving.spawn(serve(ByteStream::new(listener.accept().await.map_err(failed)?)));
    }
    serving.join_all().await.into_iter().collect()
}

async fn serve(client: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Result<(), Error> {
    http1::Builder::new().serve_connection(TokioIo::new(client), service_fn(hello)).await.map_err(failed)
}

fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::new(ErrorKind::Socket, "serving HTTP").because(error)
}
