//! Searches, as people make them.

use super::data::Random;
use super::http::{PATH, TIMES, calls};
use super::messages::{Call, Place};
use bertha_core::{Error, ErrorKind};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Longest time for an answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Time by which a timer may be late by itself: a search that begins so late is not counted as one that waits.
const GRAIN: Duration = Duration::from_millis(2);

/// Least rate of searches per second.
const SLOWEST: f64 = 0.001;

/// Times at which searches are made.
#[derive(Debug, Clone, Copy)]
pub enum Pace {
    /// Searches come at even distances, also while earlier ones have no answer.
    PerSecond(f64),
    /// A search comes as soon as one of so many has its answer.
    InFlight(usize),
}

/// Some searches.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Times at which they are made.
    pub pace: Pace,
    /// Number of searches.
    pub requests: usize,
    /// The seed of what is searched.
    pub seed: u64,
}

/// A search that was answered.
#[derive(Debug, Clone)]
pub struct Answered {
    /// Time from the moment at which the search was due, to the answer.
    pub took: Duration,
    /// The calls for it, as the front end tells them.
    pub calls: Vec<Call>,
    /// The answer, in JSON.
    pub body: Vec<u8>,
}

impl Load {
    /// Makes the searches at the front end at this address, and returns their answers, in the order of the searches.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) for a rate below one search in a quarter of an hour, the first error of a connection, and an answer that
    /// is none.
    pub async fn run(self, front: SocketAddr) -> Result<Vec<Answered>, Error> {
        if let Pace::PerSecond(rate) = self.pace
            && (rate.is_nan() || rate < SLOWEST)
        {
            return Err(Error::new(ErrorKind::Invalid, format!("{rate} searches per second are too few")));
        }
        let connections = Arc::new(Connections { front, idle: Mutex::new(Vec::new()) });
        let mut searches = JoinSet::new();
        let mut all: Vec<_> = (0..self.requests).map(|_| None).collect();
        let begun = Instant::now();
        for number in 0..self.requests {
            let due = match self.pace {
                Pace::PerSecond(rate) => {
                    let due = begun + Duration::from_secs_f64(number as f64 / rate);
                    tokio::time::sleep_until(due).await;
                    let now = Instant::now();
                    if now < due + GRAIN { now } else { due }
                }
                Pace::InFlight(most) => {
                    if searches.len() >= most.max(1) {
                        keep(&mut all, searches.join_next().await)?;
                    }
                    Instant::now()
                }
            };
            let (connections, seed) = (Arc::clone(&connections), self.seed);
            searches.spawn(async move {
                let asked = tokio::time::timeout(TIMEOUT, connections.ask(&search(seed, number))).await;
                let late = |_| Error::new(ErrorKind::TimedOut, "the front end does not answer");
                let (calls, body) = asked.map_err(late)??;
                Ok((number, Answered { took: due.elapsed(), calls, body }))
            });
        }
        while let Some(ended) = searches.join_next().await {
            keep(&mut all, Some(ended))?;
        }
        Ok(all.into_iter().flatten().collect())
    }
}

type Ended = Result<Result<(usize, Answered), Error>, tokio::task::JoinError>;

fn keep(all: &mut [Option<Answered>], ended: Option<Ended>) -> Result<(), Error> {
    if let Some(ended) = ended {
        let (number, answered) = ended.map_err(std::io::Error::other)??;
        all[number] = Some(answered);
    }
    Ok(())
}

/// Returns the address of a search.
fn search(seed: u64, number: usize) -> String {
    // The streams of hotels are below.
    let mut random = Random::new(seed, (1 << 32) + number as u64);
    let Place { latitude, longitude } = random.place();
    let (month, day) = (1 + random.below(12), 1 + random.below(25));
    let until = day + 1 + random.below(3);
    format!(
        "{PATH}?from=2026-{month:02}-{day:02}&until=2026-{month:02}-{until:02}&latitude={latitude}&longitude={longitude}"
    )
}

/// Connections to the front end, with one search at a time on each.
struct Connections {
    front: SocketAddr,
    idle: Mutex<Vec<SendRequest<Empty<Bytes>>>>,
}

impl Connections {
    async fn ask(&self, search: &str) -> Result<(Vec<Call>, Vec<u8>), Error> {
        let (connection, response) = self.send(search).await?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(failed)?.to_bytes().to_vec();
        let times = head.headers.get(TIMES).and_then(|times| times.to_str().ok());
        let Some(calls) = times.and_then(calls).filter(|_| head.status.is_success()) else {
            let text = String::from_utf8_lossy(&body);
            return Err(Error::new(ErrorKind::Malformed, format!("{search}: {}: {text}", head.status)));
        };
        self.idle.lock().await.push(connection);
        Ok((calls, body))
    }

    /// Sends a search, over a connection that is there if one is.
    ///
    /// The front end closes connections that are not used for a while, and a search may cross that: it changes nothing, so it is sent again
    /// over the next connection. A failure over a new connection is one of the front end.
    async fn send(&self, search: &str) -> Result<(SendRequest<Empty<Bytes>>, Response<Incoming>), Error> {
        loop {
            let idle = self.idle.lock().await.pop();
            let is_used = idle.is_some();
            let mut connection = match idle {
                Some(connection) => connection,
                None => self.connect().await?,
            };
            let request = Request::get(search).header("host", "hotel").body(Empty::new());
            let request = request.map_err(|error| Error::new(ErrorKind::Invalid, error.to_string()))?;
            match connection.send_request(request).await {
                Ok(response) => return Ok((connection, response)),
                Err(error) if is_used && has_crossed_the_end(&error) => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    async fn connect(&self) -> Result<SendRequest<Empty<Bytes>>, Error> {
        let stream = TcpStream::connect(self.front).await?;
        stream.set_nodelay(true)?;
        let (requests, connection) = handshake(TokioIo::new(stream)).await.map_err(failed)?;
        // It ends with `requests`. Its error is the error of a request.
        tokio::spawn(connection);
        Ok(requests)
    }
}

/// Returns true if the other end closed the connection before it answered.
fn has_crossed_the_end(error: &hyper::Error) -> bool {
    error.is_canceled() || error.is_closed() || error.is_incomplete_message()
}

#[cold]
fn failed(error: hyper::Error) -> Error {
    Error::new(ErrorKind::Io, "a search failed").because(error)
}
