//! The front end's side to the world: HTTP/1.1, with times in a header.

use super::messages::{Call, Query};
use super::services::{Next, Profile, Search};
use super::works::Front;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderName};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// The header of the times: for each service `NAME;dur=MILLISECONDS` from the request to the answer, and `NAME-app;dur=MILLISECONDS` of work.
pub(super) const TIMES: HeaderName = HeaderName::from_static("server-timing");

/// Time after which the system may have a descriptor again.
const PAUSE: Duration = Duration::from_millis(50);

/// Path of a search.
pub(super) const PATH: &str = "/hotels";

/// Serves searches, without an end.
pub(super) async fn serve<S: Next<Search>, P: Next<Profile>>(listener: TcpListener, front: Front<S, P>) {
    let front = Arc::new(front);
    loop {
        let accepted = listener.accept().await.and_then(|(stream, _)| {
            stream.set_nodelay(true)?;
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
            let service = service_fn(move |request| {
                let front = Arc::clone(&front);
                async move { Ok::<_, Infallible>(answer(&front, &request).await) }
            });
            let mut http = http1::Builder::new();
            let serving = http.timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service).await;
            if let Err(error) = serving {
                tracing::debug!(%error, "a connection ends");
            }
        });
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
    Some(Query {
        latitude: value("latitude")?.parse().ok()?,
        longitude: value("longitude")?.parse().ok()?,
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
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_were_written() {
        let call = |service: &str, took_ns, worked_ns| Call { service: service.into(), took_ns, worked_ns };
        let written = [call("front", 1_234_567, 1), call("geo", 0, 999)];
        assert_eq!(calls(&times(&written)).unwrap(), written);
        for wrong in ["", "geo", "geo;dur=x", "geo-app;dur=1", "geo;dur=1, rate-app;dur=1"] {
            assert_eq!(calls(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_search_lacks_nothing() {
        let whole = "from=2026-05-01&until=2026-05-03&latitude=52.5&longitude=13.4";
        let read = query(whole).unwrap();
        assert_eq!((read.latitude, read.until.as_str()), (52.5, "2026-05-03"));
        for part in whole.split('&') {
            assert_eq!(query(&whole.replace(part, "")), None, "{part}");
        }
    }
}
