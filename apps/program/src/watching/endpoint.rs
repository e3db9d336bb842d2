//! The HTTP server that Prometheus asks.

use super::pages::Pages;
use bertha_core::{Error, ErrorKind};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus::{Encoder, Registry, TextEncoder};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

/// Largest number of connections. A newcomer beyond takes the place of the oldest, which has had the most time.
const CONNECTIONS: usize = 64;

/// Number of connections that wait in the kernel.
const QUEUE: i32 = 1_024;

/// Longest time of a connection, which has one request.
const PATIENCE: Duration = Duration::from_secs(10);

/// Largest head of a request, in bytes.
const HEAD: usize = 16 << 10;

/// Time until the next attempt after the system refused to accept.
const PAUSE: Duration = Duration::from_millis(100);

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
    pub(super) fn open(address: SocketAddr, registry: Registry) -> Result<Self, Error> {
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
            if let Err(error) = run(listener, &registry, ended) {
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
    registry: &Registry,
    ended: oneshot::Receiver<Infallible>,
) -> std::io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::from_std(listener)?;
        tokio::select! {
            () = serve(&listener, registry) => {}
            _ = ended => {}
        }
        Ok(())
    })
}

async fn serve(listener: &TcpListener, registry: &Registry) {
    let (mut open, pages) = (VecDeque::<AbortHandle>::new(), Arc::new(Pages::default()));
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                open.retain(|task| !task.is_finished());
                if open.len() >= CONNECTIONS
                    && let Some(oldest) = open.pop_front()
                {
                    oldest.abort();
                }
                open.push_back(
                    tokio::spawn(answer(stream, registry.clone(), Arc::clone(&pages))).abort_handle(),
                );
            }
            Err(error) => {
                tracing::debug!(%error, "could not accept a question for metrics");
                // Those that have waited the longest make room for descriptors.
                if let Some(oldest) = open.pop_front() {
                    oldest.abort();
                }
                sleep(PAUSE).await;
            }
        }
    }
}

/// Answers the request of a connection.
async fn answer(stream: TcpStream, registry: Registry, pages: Arc<Pages>) {
    let (end, ended) = oneshot::channel();
    let end = Mutex::new(Some(end));
    let service = service_fn(move |request: Request<Incoming>| {
        let response = respond(&request, &registry, &pages, &end);
        async { Ok::<_, Infallible>(response) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).keep_alive(false).max_buf_size(HEAD).header_read_timeout(PATIENCE);
    // A visitor that has gone or is too slow is told nothing.
    let serving = timeout(PATIENCE, http.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        _ = serving => {}
        // Its page was taken away.
        _ = ended => {}
    }
}

fn respond(
    request: &Request<Incoming>,
    registry: &Registry,
    pages: &Pages,
    end: &Mutex<Option<oneshot::Sender<Infallible>>>,
) -> Response<Full<Bytes>> {
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
    match catch_unwind(AssertUnwindSafe(|| pages.read(Instant::now, end, || metrics(registry)))) {
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
