//! memcached under a load of ours: nine GET of ten, one SET, by 50 connections that wait for each reply.

use super::peers::{Work, answer, asking, socket};
use super::server::Server;
use super::ways::Way;
use super::{compare, in_turn};
use crate::harness::{Effort, in_time, run_on, runtime};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use std::net::Ipv4Addr;
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const PER_SECOND: Budget = Budget::AtLeast(1.5);

const CONNECTIONS: u32 = 50;

/// Number of bytes of a value.
const VALUE: usize = 100;

/// Adds the rows.
///
/// # Errors
/// Errors of memcached and of the load.
pub(super) fn rows(report: &mut Report, effort: Effort, cores: (usize, usize)) -> Result<(), Error> {
    let (client, server) = cores;
    let start = |way| run_on(server, || start(way));
    let (kernel, taken) = (start(Way::Kernel)?, start(Way::Taken)?);
    let count = effort.pick(100_000, 20_000);
    let paired = in_turn(effort, |way| {
        let port = if way == Way::Kernel { kernel.port } else { taken.port };
        run_on(client, || answer(asking(way, Work::Memcached, port, count)?))
    })?;
    compare(report, "memcached, 50 connections", &paired, "calls/s", |it| *it, PER_SECOND);
    Ok(())
}

fn start(way: Way) -> Result<Server, Error> {
    Server::start("memcached", |port| {
        let mut command = way.command("memcached")?;
        command.args(["-l", "127.0.0.1", "-p", &port.to_string(), "-U", "0", "-t", "1", "-u", "root"]);
        Ok(command)
    })
}

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
