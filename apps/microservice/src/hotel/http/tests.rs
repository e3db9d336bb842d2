//! The front end's side to the world, alone.

use super::*;
use crate::hotel::services::Service;
use bertha_core::Error;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A way to a service that finds nothing.
struct Nothing;

impl<S: Service> Next<S> for Nothing {
    async fn call(&self, _: S::Request) -> Result<S::Answer, Error> {
        Ok(S::Answer::default())
    }
}

/// Starts a front end, and returns its address.
async fn front() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, Front::new(Nothing, Nothing)));
    addr
}

/// Returns the first line of the answer to a request, and nothing if the connection ends before one.
async fn first_line(addr: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    let read = stream.read(&mut answer).await.unwrap_or(0);
    String::from_utf8_lossy(&answer[..read]).into_owned()
}

const WHOLE: &str = "from=2026-05-01&until=2026-05-03&latitude=52.5&longitude=13.4";

#[tokio::test]
async fn what_is_no_search_is_told_so() {
    let addr = front().await;
    for (line, status) in [
        (format!("GET /hotels?{WHOLE}"), "200"),
        (format!("POST /hotels?{WHOLE}"), "405"),
        ("GET /hotels?from=now".into(), "400"),
        ("GET /rooms".into(), "404"),
        (format!("GET /{}", "x".repeat(LONGEST_HEAD)), "431"),
    ] {
        let told = first_line(addr, &format!("{line} HTTP/1.1\r\nhost: a\r\n\r\n")).await;
        assert_eq!(told, format!("HTTP/1.1 {status}"), "{line:.60}");
    }
}

#[tokio::test]
async fn silent_connections_keep_nobody_out_for_long() {
    let addr = front().await;
    let mut silent = Vec::new();
    for _ in 0..CONNECTIONS {
        silent.push(TcpStream::connect(addr).await.unwrap());
    }
    let told = first_line(addr, &format!("GET /hotels?{WHOLE} HTTP/1.1\r\nhost: a\r\n\r\n")).await;
    assert_eq!(told, "HTTP/1.1 200");
    for mut stream in silent {
        assert_eq!(stream.read(&mut [0; 1]).await.unwrap(), 0);
    }
}

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
    let read = query(WHOLE).unwrap();
    assert_eq!((read.latitude, read.until.as_str()), (52.5, "2026-05-03"));
    for part in WHOLE.split('&') {
        assert_eq!(query(&WHOLE.replace(part, "")), None, "{part}");
    }
}

#[test]
fn degrees_are_on_the_earth() {
    for (latitude, longitude) in [("NaN", "0"), ("inf", "0"), ("90.5", "0"), ("0", "-181")] {
        let text = format!("from=2026-05-01&until=2026-05-03&latitude={latitude}&longitude={longitude}");
        assert_eq!(query(&text), None, "{text}");
    }
}
