//! Clients that send a request and wait, in turn.

use super::server::BODY;
use crate::{Error, ErrorKind};
use std::io;
use std::net::SocketAddr;
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: bench\r\n\r\n";

/// The load on a server. It is written by hand, so that the figures show the server, and not the client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) connections: usize,
    /// Number of requests over all connections together.
    pub(super) requests: usize,
}

impl Load {
    /// Returns the requests answered per second.
    ///
    /// # Errors
    /// Errors of the sockets.
    pub(super) async fn run(self, server: oneshot::Receiver<SocketAddr>) -> Result<f64, Error> {
        let server = server.await.map_err(Error::while_doing(ErrorKind::Socket, "waiting for the server"))?;
        let each = self.requests.div_ceil(self.connections);
        let mut streams = Vec::new();
        for _ in 0..self.connections {
            let stream = TcpStream::connect(server).await.map_err(failed)?;
            stream.set_nodelay(true).map_err(failed)?;
            streams.push(stream);
        }
        let begun = Instant::now();
        let mut asking: JoinSet<_> = streams.into_iter().map(|stream| ask(stream, each)).collect();
        while let Some(asked) = asking.join_next().await {
            asked.map_err(failed)?.map_err(failed)?;
        }
        Ok((each * self.connections) as f64 / begun.elapsed().as_secs_f64())
    }
}

async fn ask(mut stream: TcpStream, requests: usize) -> io::Result<()> {
    let mut room = [0; 1024];
    for _ in 0..requests {
        stream.write_all(REQUEST).await?;
        let mut length = 0;
        while !room[..length].ends_with(BODY) {
            match stream.read(&mut room[length..]).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => length += read,
            }
        }
    }
    Ok(())
}

fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::new(ErrorKind::Socket, "asking over HTTP").because(error)
}
