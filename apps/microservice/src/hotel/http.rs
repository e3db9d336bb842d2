//! The front end's side to the world: HTTP/1.1, with times in a header.

use super::messages::{Call, Query};
use super::services::{Next, Profile, Search};
use super::works::Front;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderName};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt::set_tcp_user_timeout;
use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// The header of the times: for each service `NAME;dur=MILLISECONDS` from the request to the answer, and `NAME-app;dur=MILLISECONDS` of work.
pub(super) const TIMES: HeaderName = HeaderName::from_static("server-timing");

/// Time after which the system may have a descriptor again.
const PAUSE: Duration = Duration::from_millis(50);

/// Maximum number of connections. Further ones wait in the kernel until one ends.
const CONNECTIONS: usize = 512;

/// Time for the head of a request, from the answer before it on, and for what the peer has not read of answers.
const PATIENCE: Duration = Duration::from_secs(5);

/// Number of bytes of the longest head of a request: the least that hyper reads at once.
const LONGEST_HEAD: usize = 8 << 10;

/// Path of a search.
pub(super) const PATH: &str = "/hotels";

/// Serves searches, without an end.
pub(super) async fn serve<S: Next<Search>, P: Next<Profile>>(listener: TcpListener, front: Front<S, P>) {
    let (front, places) = (Arc::new(front), Arc::new(Semaphore::new(CONNECTIONS)));
    loop {
        // The semaphore is never closed.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { continue };
        let accepted = listener.accept().await.and_then(|(stream, _)| {
            stream.set_nodelay(true)?;
            // The system ends the connection of a peer that does not read.
            set_tcp_user_timeout(&stream, PATIENCE.as_millis() as u32)?;
            Ok(stream)
        });
        let stream = match accepted {
            Ok(stream) => stream,
            Err(error) => {
                tracing::warn!(%error, "no connection is accepted for a moment");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let front = Arc::clone(&front);
        tokio::spawn(async move {
            converse(stream, front).await;
            drop(place);
        });
    }
}

/// Answers the requests of a connection.
async fn converse<S: Next<Search>, P: Next<Profile>>(stream: TcpStream, front: Arc<Front<S, P>>) {
    let service = service_fn(move |request| {
        let front = Arc::clone(&front);
        async move { Ok::<_, Infallible>(answer(&front, &request).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(LONGEST_HEAD);
    if let Err(error) = http.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "a connection ends");
    }
}

async fn answer<S: Next<Search>, P: Next<Profile>>(
    front: &Front<S, P>,
    request: &Request<Incoming>,
) -> Response<Full<Bytes>> {
    let text = |status, text: &str| {
        let mut response = Response::new(Full::from(text.to_owned()));
        *response.status_mut() = status;
        response
    };
    if request.method() != Method::GET {
        return text(StatusCode::METHOD_NOT_ALLOWED, "hotels are found by GET\n");
    }
    if request.uri().path() != PATH {
        return text(StatusCode::NOT_FOUND, "hotels are at /hotels\n");
    }
    let Some(query) = request.uri().query().and_then(query) else {
        let form = "/hotels?from=2026-05-01&until=2026-05-03&latitude=52.5&longitude=13.4\n";
        return text(StatusCode::BAD_REQUEST, form);
    };
    let found = match front.find(query).await {
        Ok(found) => found,
        Err(error) => {
            tracing::warn!(%error, "a request fails");
            return text(StatusCode::BAD_GATEWAY, "a service fails\n");
        }
    };
    let json = serde_json::to_vec(&found.hotels).unwrap_or_default();
    let mut response = Response::new(Full::from(json));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static("application/json"));
    if let Ok(times) = times(&found.calls).parse() {
        headers.insert(TIMES, times);
    }
    response
}

/// Reads the search in an address. Days and numbers need no percents.
fn query(text: &str) -> Option<Query> {
    let value = |name: &str| {
        let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(key, _)| *key == name).map(|(_, value)| value).next_back()
    };
    let day = |name| value(name).filter(|day| day.len() == 10).map(str::to_owned);
    let degrees = |name, most| value(name)?.parse().ok().filter(|degrees: &f64| degrees.abs() <= most);
    Some(Query {
        latitude: degrees("latitude", 90.0)?,
        longitude: degrees("longitude", 180.0)?,
        from: day("from")?,
        until: day("until")?,
    })
}

fn times(calls: &[Call]) -> String {
    let mut text = String::new();
    for Call { service, took_ns, worked_ns } in calls {
        let comma = if text.is_empty() { "" } else { ", " };
        let [took, worked] = [took_ns, worked_ns].map(|&ns| ns as f64 / 1e6);
        // A text takes whatever is written.
        let _ = write!(text, "{comma}{service};dur={took:.6}, {service}-app;dur={worked:.6}");
    }
    text
}

/// Reads the times of a header.
pub(super) fn calls(text: &str) -> Option<Vec<Call>> {
    let mut calls: Vec<Call> = Vec::new();
    for time in text.split(", ") {
        let (name, milliseconds) = time.split_once(";dur=")?;
        let ns = (milliseconds.parse::<f64>().ok()? * 1e6).round() as u64;
        match name.strip_suffix("-app") {
            Some(name) => calls.last_mut().filter(|call| call.service == name)?.worked_ns = ns,
            None => calls.push(Call { service: name.to_owned(), took_ns: ns, worked_ns: 0 }),
        }
    }
    Some(calls)
}

#[cfg(test)]
mod tests;
