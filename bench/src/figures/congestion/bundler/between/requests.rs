//! Requests of many sizes by Linux's TCP, each on a connection of its own.

use super::super::super::completion::Arrival;
use super::site::{RECEIVER, Site};
use crate::harness::runtime;
use crate::{Error, ErrorKind};
use socket2::SockRef;
use std::io;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep_until, timeout};

const PORT: u16 = 7_000;

/// The congestion control of Linux's flows.
const CONTROL: &[u8] = b"cubic";

/// Longest time after the last arrival until all are complete.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Number of bytes that are written at a time.
const CHUNK: usize = 16 << 10;

/// Sends the requests, and returns the time of each from its arrival at the sender until the receiver has all of it.
pub(super) fn run(site: &Site, requests: &[Arrival]) -> Result<Vec<Duration>, Error> {
    let failed = |error| Error::while_doing(ErrorKind::Socket, "requests between namespaces")(error);
    let panicked = || Error::new(ErrorKind::Core, "an end of the requests panicked");
    let (tell, ready) = mpsc::channel();
    let start = std::thread::scope(|scope| {
        let receiving = scope.spawn(move || {
            site.receiver.enter()?;
            runtime()?.block_on(async {
                let listener = TcpListener::bind((RECEIVER, PORT)).await.map_err(failed)?;
                // The sender may have failed.
                tell.send(()).unwrap_or_default();
                receive(listener, requests).await
            })
        });
        let sending = scope.spawn(move || {
            site.sender.enter()?;
            let Ok(()) = ready.recv() else { return Ok(Instant::now()) };
            runtime()?.block_on(send(requests)).map_err(failed)
        });
        let started = sending.join().unwrap_or_else(|_| Err(panicked()));
        let arrived = receiving.join().unwrap_or_else(|_| Err(panicked()));
        Ok::<_, Error>((arrived?, started?))
    });
    let (arrived, start) = start?;
    Ok(requests
        .iter()
        .zip(arrived)
        .map(|(request, at)| at.saturating_duration_since(start + request.at))
        .collect())
}

/// Sends each request at its time, and returns the time of the beginning.
async fn send(requests: &[Arrival]) -> io::Result<Instant> {
    let start = Instant::now();
    let mut sending = JoinSet::new();
    for (number, request) in requests.iter().enumerate() {
        sleep_until((start + request.at).into()).await;
        sending.spawn(send_one(number as u64, request.bytes));
        while let Some(sent) = sending.try_join_next() {
            sent??;
        }
    }
    while let Some(sent) = sending.join_next().await {
        sent??;
    }
    Ok(start)
}

async fn send_one(number: u64, mut bytes: u64) -> io::Result<()> {
    let socket = TcpSocket::new_v4()?;
    SockRef::from(&socket).set_tcp_congestion(CONTROL)?;
    let mut stream = socket.connect((RECEIVER, PORT).into()).await?;
    stream.write_u64(number).await?;
    while bytes > 0 {
        let len = bytes.min(CHUNK as u64);
        stream.write_all(&[0; CHUNK][..len as usize]).await?;
        bytes -= len;
    }
    stream.shutdown().await
}

/// Receives all requests, and returns the times at which they were complete.
async fn receive(listener: TcpListener, requests: &[Arrival]) -> Result<Vec<Instant>, Error> {
    let failed = |error| Error::while_doing(ErrorKind::Socket, "receiving requests")(error);
    let last = requests.last().map_or(Duration::ZERO, |last| last.at);
    let mut arrived = vec![None; requests.len()];
    let receiving = async {
        let mut tasks = JoinSet::new();
        let (mut begun, mut complete) = (0, 0);
        while complete < requests.len() {
            tokio::select! {
                accepted = listener.accept(), if begun < requests.len() => {
                    tasks.spawn(receive_one(accepted.map_err(failed)?.0));
                    begun += 1;
                }
                Some(received) = tasks.join_next() => {
                    let received: io::Result<(u64, Instant)> = received.unwrap_or_else(|error| Err(error.into()));
                    let (number, at) = received.map_err(failed)?;
                    let place = arrived.get_mut(number as usize);
                    *place.ok_or_else(|| Error::new(ErrorKind::Socket, "a request that nobody made"))? = Some(at);
                    complete += 1;
                }
            }
        }
        Ok(())
    };
    let unfinished = || Error::new(ErrorKind::Stalled, "a request was not complete in time");
    timeout(last + TIME_LIMIT, receiving).await.unwrap_or_else(|_| Err(unfinished()))?;
    arrived.into_iter().collect::<Option<_>>().ok_or_else(unfinished)
}

async fn receive_one(mut stream: TcpStream) -> io::Result<(u64, Instant)> {
    let number = stream.read_u64().await?;
    let mut chunk = vec![0; CHUNK];
    while stream.read(&mut chunk).await? > 0 {}
    Ok((number, Instant::now()))
}
