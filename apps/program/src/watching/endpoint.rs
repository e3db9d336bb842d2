//! The HTTP server that Prometheus asks.

use super::callers::Callers;
use super::hosts::Hosts;
use super::pages::Pages;
use bertha_core::{Error, ErrorKind};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HOST, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus::{Encoder, Registry, TextEncoder};
use std::convert::Infallible;
use std::future::{poll_fn, ready};
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};

/// Number of connections that wait in the kernel.
const QUEUE: i32 = 1_024;

/// Longest time of a connection, which has one request.
const PATIENCE: Duration = Duration::from_secs(10);

/// Largest head of a request, in bytes.
const HEAD: usize = 16 << 10;

/// Time in which a caller that was answered takes the answer, and number of bytes that it may have sent behind its request.
const TAKEN: (Duration, u64) = (Duration::from_secs(1), 64 << 10);

/// Time until the next attempt after the system refused to accept.
const PAUSE: Duration = Duration::from_millis(100);

/// The page that callers get.
#[derive(Debug)]
struct Told {
    registry: Registry,
    hosts: Hosts,
    pages: Pages,
}

/// An HTTP server with the path `/metrics`, until the value is dropped. It has a thread of its own, so that
/// it answers while the program is busy.
#[derive(Debug)]
pub(super) struct Endpoint {
    address: SocketAddr,
    /// Ends the thread when it is dropped.
    _end: oneshot::Sender<Infallible>,
}

impl Endpoint {
    /// Listens at the address.
    ///
    /// # Errors
    /// Errors of the system, with the address.
    pub(super) fn open(address: SocketAddr, registry: Registry, hosts: Hosts) -> Result<Self, Error> {
        let named = |error: std::io::Error| {
            let source = Error::from(error);
            Error::new(source.kind(), format!("--metrics {address}: {source}"))
        };
        let listener = std::net::TcpListener::bind(address).map_err(named)?;
        listener.set_nonblocking(true).map_err(named)?;
        // A second call sets another length of the queue; the standard library's is short.
        rustix::net::listen(&listener, QUEUE).map_err(|errno| named(errno.into()))?;
        let address = listener.local_addr().map_err(named)?;
        let (end, ended) = oneshot::channel();
        let serving = move || {
            if let Err(error) =
                run(listener, &Told { registry, hosts, pages: Pages::default() }.into(), ended)
            {
                tracing::error!(%error, "metrics are not told");
            }
        };
        thread::Builder::new().name("metrics".into()).spawn(serving).map_err(named)?;
        Ok(Self { address, _end: end })
    }

    /// Returns the address, with the port that the system chose.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Serves until the sender of `ended` is dropped, on a runtime of its own.
fn run(
    listener: std::net::TcpListener,
    told: &Arc<Told>,
    ended: oneshot::Receiver<Infallible>,
) -> std::io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::from_std(listener)?;
        tokio::select! {
            () = serve(&listener, told) => {}
            _ = ended => {}
        }
        Ok(())
    })
}

async fn serve(listener: &TcpListener, told: &Arc<Told>) {
    let mut callers = Callers::default();
    loop {
        match listener.accept().await {
            Ok((stream, from)) => {
                callers.make_room(from.ip());
                let answering = tokio::spawn(answer(stream, Arc::clone(told)));
                callers.add(from.ip(), answering.abort_handle());
                // A caller whose request has come is answered before the next is taken, and loses its place to nobody.
                yield_now().await;
            }
            Err(error) => {
                tracing::debug!(%error, "could not accept a question for metrics");
                // Those that have waited the longest make room for descriptors.
                callers.end_oldest();
                sleep(PAUSE).await;
            }
        }
    }
}

/// Answers the request of a connection.
async fn answer(stream: TcpStream, told: Arc<Told>) {
    let (end, ended) = oneshot::channel();
    let end = Mutex::new(Some(end));
    let service = service_fn(move |request: Request<Incoming>| {
        let response = respond(&request, &told, &end);
        ready(Ok::<_, Infallible>(response))
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).keep_alive(false).max_buf_size(HEAD).header_read_timeout(PATIENCE);
    let mut connection = http.serve_connection(TokioIo::new(stream), service);
    let serving = timeout(PATIENCE, poll_fn(|context| connection.poll_without_shutdown(context)));
    tokio::select! {
        // A visitor that has gone or is too slow is told nothing.
        served = serving => if served.is_err() { return },
        // Its page was taken away.
        _ = ended => return,
    }
    part(connection.into_parts().io.into_inner()).await;
}

/// Lets a caller take its answer: a socket that is closed with bytes that were not read resets its connection, and the answer is lost.
async fn part(mut stream: TcpStream) {
    let (within, bytes) = TAKEN;
    let reading = async {
        stream.shutdown().await?;
        tokio::io::copy(&mut stream.take(bytes), &mut tokio::io::sink()).await
    };
    // A caller that takes no answer wants none.
    let _read = timeout(within, reading).await;
}

fn respond(
    request: &Request<Incoming>,
    told: &Told,
    end: &Mutex<Option<oneshot::Sender<Infallible>>>,
) -> Response<Full<Bytes>> {
    let host = request.headers().get(HOST).map(HeaderValue::to_str);
    // A browser names a host.
    if host.is_some_and(|host| !host.is_ok_and(|host| told.hosts.have(host))) {
        let what = "metrics are asked for by an address, or by a name of --metrics-name\n";
        return text(StatusCode::MISDIRECTED_REQUEST, what);
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let mut refused = text(StatusCode::METHOD_NOT_ALLOWED, "metrics are read by GET\n");
        refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refused;
    }
    if request.uri().path() != "/metrics" {
        return text(StatusCode::NOT_FOUND, "metrics are at /metrics\n");
    }
    // Only a reader of the page itself keeps it.
    let is_read = request.method() == Method::GET;
    let end = || is_read.then(|| end.lock().unwrap_or_else(PoisonError::into_inner).take()).flatten();
    match catch_unwind(AssertUnwindSafe(|| told.pages.read(Instant::now, end, || metrics(&told.registry)))) {
        Ok(Ok(metrics)) => {
            let mut response = Response::new(Full::new(metrics));
            let kind = HeaderValue::from_static(prometheus::TEXT_FORMAT);
            response.headers_mut().insert(CONTENT_TYPE, kind);
            response
        }
        Ok(Err(error)) => {
            tracing::error!(%error, "metrics could not be collected");
            text(
                StatusCode::INTERNAL_SERVER_ERROR,
                "metrics could not be collected; the log has the reason\n",
            )
        }
        Err(_) => {
            tracing::error!("a layer panicked when it was asked for its metrics");
            text(
                StatusCode::INTERNAL_SERVER_ERROR,
                "metrics could not be collected; the log has the reason\n",
            )
        }
    }
}

fn metrics(registry: &Registry) -> Result<Vec<u8>, Error> {
    let mut text = Vec::new();
    let encoded = TextEncoder::new().encode(&registry.gather(), &mut text);
    encoded.map_err(|error| Error::new(ErrorKind::Invalid, error.to_string()))?;
    Ok(text)
}

fn text(status: StatusCode, body: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn each_of_many_whose_requests_have_come_is_answered() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        rustix::net::listen(&listener, QUEUE).unwrap();
        let address = listener.local_addr().unwrap();
        let mut callers: Vec<_> = (0..4 * 64)
            .map(|_| {
                let mut caller = std::net::TcpStream::connect(address).unwrap();
                // What comes behind a request is not read before its answer.
                let request =
                    format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n{}", "x".repeat(20_000));
                caller.write_all(request.as_bytes()).unwrap();
                caller
            })
            .collect();
        let told = Told { registry: Registry::new(), hosts: Hosts::new(Vec::new()), pages: Pages::default() };
        let (end, ended) = oneshot::channel();
        let serving = thread::spawn(move || run(listener, &told.into(), ended));
        for (number, caller) in callers.iter_mut().enumerate() {
            let mut answer = String::new();
            caller.read_to_string(&mut answer).unwrap_or_else(|error| panic!("{number}: {error}"));
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{number}: {answer}");
        }
        drop(end);
        serving.join().unwrap().unwrap();
    }
}
