//! An HTTP front by hyper, over any carrier of bytes: `http 127.0.0.1:8080`, `http unix:/tmp/front.sock`.

use bertha::core::Listener;
use bertha::io::ByteStream;
use bertha::kernel::{Tcp, UnixStream};
use bertha::{Addr, Chunk, Datapath, Error, ErrorKind};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::time::Duration;

async fn hello(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::from(format!("hello from {}\n", request.uri().path()))))
}

async fn serve(datapath: impl Datapath<Chunk>, on: Addr) -> Result<(), Error> {
    let listener = datapath.listen(on).await?;
    loop {
        let client = match listener.accept().await {
            Ok(client) => TokioIo::new(ByteStream::new(client)),
            // The process has no descriptor left: clients wait until others have gone.
            Err(error) if error.kind() == ErrorKind::Exhausted => {
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            }
            Err(error) => return Err(error),
        };
        // A client that fails ends only its own connection.
        tokio::spawn(http1::Builder::new().serve_connection(client, service_fn(hello)));
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    match std::env::args().nth(1).unwrap_or("127.0.0.1:8080".into()).parse()? {
        on @ Addr::Unix(_) => serve(UnixStream::new().bytes(), on).await,
        on => serve(Tcp::new().bytes(), on).await,
    }
}
