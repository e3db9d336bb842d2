//! The load on memcached: nine GET of ten, one SET, by 50 connections that wait for each reply.

use crate::harness::{in_time, runtime};
use crate::{Error, ErrorKind};
use std::io;
use std::net::Ipv4Addr;
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const CONNECTIONS: u32 = 50;

/// Number of bytes of a value.
const VALUE: usize = 100;

/// Makes calls, and returns their number per second.
///
/// # Errors
/// Errors of the sockets; [`ErrorKind::Stalled`] for a wrong reply, and after five minutes.
pub(super) fn load(port: u16, count: u32) -> Result<f64, Error> {
    runtime()?.block_on(in_time(async {
        let rounds = (count / CONNECTIONS).max(1);
        let mut streams = Vec::new();
        for _ in 0..CONNECTIONS {
            let stream =
                TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.map_err(socket("connecting"))?;
            stream.set_nodelay(true).map_err(socket("connecting"))?;
            streams.push(stream);
        }
        let begun = Instant::now();
        let clients = streams.into_iter().zip(0..).map(|(stream, number)| client(stream, number, rounds));
        futures_util::future::try_join_all(clients).await?;
        Ok(f64::from(rounds * CONNECTIONS) / begun.elapsed().as_secs_f64())
    }))
}

async fn client(mut stream: TcpStream, number: u32, rounds: u32) -> Result<(), Error> {
    let value = "x".repeat(VALUE);
    let set = format!("set key{number} 0 0 {VALUE}\r\n{value}\r\n");
    let get = format!("get key{number}\r\n");
    let found = format!("VALUE key{number} 0 {VALUE}\r\n{value}\r\nEND\r\n");
    let mut reply = Vec::new();
    for round in 0..rounds {
        // The first is a SET, so every GET finds its key.
        let (request, expected) = if round % 10 == 0 { (&set, "STORED\r\n") } else { (&get, &*found) };
        stream.write_all(request.as_bytes()).await.map_err(socket("asking"))?;
        reply.resize(expected.len(), 0);
        stream.read_exact(&mut reply).await.map_err(socket("waiting for a reply"))?;
        if reply != expected.as_bytes() {
            return Err(Error::new(ErrorKind::Stalled, "memcached gives another reply than the right one"));
        }
    }
    Ok(())
}

fn socket(doing: &'static str) -> impl FnOnce(io::Error) -> Error {
    Error::while_doing(ErrorKind::Socket, doing)
}
