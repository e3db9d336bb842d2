//! Servers of other kinds, over HTTP/2.

mod request;

use super::fairness::turns::Turns;
use crate::calling::end::end;
use crate::calling::{elsewhere, server};
use crate::failures::details::Details;
use crate::parties::link::Link;
use crate::state::State;
use bertha_chunnels::rpc::FailureKind;
use bertha_core::{Error, ErrorKind};
use bertha_managed::{Descriptor, InHeap, Refusal};
use bytes::Bytes;
use h2::Ping;
use h2::client::{Connection, SendRequest};
use request::{Asked, Failed, ask, origin};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tokio::time::{Instant, timeout, timeout_at};

/// Time in which the server has to speak HTTP/2.
const SAID: Duration = Duration::from_secs(10);

/// Time after the end of a connection in which the calls that it had find out.
const DRAINED: Duration = Duration::from_secs(1);

/// Number of bytes of the responses of a server that are read at once.
const READ: usize = 64 << 20;

/// Connects to a server, and makes the calls of a link until the connection ends. Then the calls of the link end.
pub(crate) async fn call(link: Arc<Link>, to: SocketAddr, name: Option<&str>, state: &State) {
    let service = &link.service;
    let latest = Instant::now() + SAID;
    let called = async {
        let socket = by(latest, connect(to)).await?;
        match name {
            None => make_calls(socket, &link, to, format!("http://{to}"), latest, state).await,
            Some(name) => {
                let (tls, addr) = (state.servers.client(name)?, to.into());
                let shaken = by(latest, tls.stream(socket, &addr)).await;
                let stream = shaken.inspect_err(|error| state.servers.failed.tell(to, error))?;
                make_calls(stream, &link, to, origin(name, to), latest, state).await
            }
        }
    };
    if let Err(error) = called.await {
        tracing::info!(%to, service, %error, "a server over HTTP/2 takes no calls");
        state.services.failed(&link, state.now());
        end(&link, state, &format!("the server at {to} takes no calls of {service}: {error}"), false);
    }
}

async fn connect(to: SocketAddr) -> Result<TcpStream, Error> {
    let socket = TcpStream::connect(to).await?;
    // Requests wait for nothing.
    socket.set_nodelay(true)?;
    Ok(socket)
}

/// Waits for a part of the beginning of a connection, until a time.
async fn by<T>(latest: Instant, part: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let late = |_| Err(Error::new(ErrorKind::TimedOut, "the server does not speak HTTP/2"));
    timeout_at(latest, part).await.unwrap_or_else(late)
}

/// Makes calls over a connection until it ends.
///
/// # Errors
/// The errors of a connection that has not begun.
async fn make_calls(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin,
    link: &Arc<Link>,
    to: SocketAddr,
    origin: String,
    latest: Instant,
    state: &State,
) -> Result<(), Error> {
    let service = &link.service;
    let shaken = async {
        let mut builder = h2::client::Builder::new();
        let shaken = builder
            .max_header_list_size(16 << 10)
            .handshake::<_, Bytes>(Turns::new(stream, Arc::default(), Arc::default()))
            .await;
        shaken.map_err(|error| Error::new(ErrorKind::Malformed, format!("HTTP/2: {error}")))
    };
    let (sender, mut connection) = by(latest, shaken).await?;
    by(latest, is_heard(&mut connection)).await?;
    tracing::info!(%to, service, "a server over HTTP/2 takes calls");
    elsewhere::open(link, state);
    let (asked, open) = (JoinSet::new(), HashMap::new());
    let mut calls = Calls { link, origin: origin.into(), state, asked, open };
    let error = tokio::select! {
        ended = connection => ended.err(),
        () = calls.make(sender) => None,
    };
    calls.drain().await;
    tracing::info!(%to, service, error = error.map(tracing::field::display), "a server over HTTP/2 has gone");
    end(link, state, "the connection to the server has ended", true);
    Ok(())
}

/// Waits until the server has answered a ping: what takes a connection need not speak HTTP/2, and until then no call is sent.
async fn is_heard<S>(connection: &mut Connection<S, Bytes>) -> Result<(), Error>
where
    S: AsyncRead + AsyncWrite + Send + Unpin,
{
    let closed = || Error::new(ErrorKind::Closed, "the server has closed the connection");
    let mut pings = connection.ping_pong().ok_or_else(closed)?;
    let failed = |error: h2::Error| Error::new(ErrorKind::Malformed, format!("HTTP/2: {error}"));
    tokio::select! {
        pong = pings.ping(Ping::opaque()) => pong.map(drop).map_err(failed),
        ended = connection => Err(ended.err().map_or_else(closed, failed)),
    }
}

/// The calls of a link.
struct Calls<'a> {
    link: &'a Arc<Link>,
    /// The beginning of the addresses of methods.
    origin: Arc<str>,
    state: &'a State,
    asked: JoinSet<Outcome>,
    open: HashMap<u64, AbortHandle>,
}

/// The number of a call, and its outcome.
type Outcome = (u64, Result<request::Answer, Failed>);

impl Calls<'_> {
    /// Makes calls until there are no more to come.
    async fn make(&mut self, mut sender: SendRequest<Bytes>) {
        let mut descriptors = Vec::new();
        let reading = Arc::new(Semaphore::new(READ));
        loop {
            tokio::select! {
                () = self.link.has_news() => drop(self.link.news(&mut descriptors)),
                () = self.link.is_detached() => return,
                Some(answered) = self.asked.join_next() => self.answer(answered),
            }
            if !descriptors.is_empty() && has_ended(&mut sender) {
                descriptors.drain(..).for_each(|descriptor| self.leave(&descriptor));
            }
            for descriptor in descriptors.drain(..) {
                self.take(descriptor, &sender, &reading);
            }
        }
    }

    fn take(&mut self, descriptor: Descriptor, sender: &SendRequest<Bytes>, reading: &Arc<Semaphore>) {
        match descriptor {
            Descriptor::Request { call, method, message, milliseconds, trace } => {
                let frame = self.link.waiting(&descriptor);
                let request = Asked { method, at: message.at, frame, milliseconds, trace };
                let (sender, link, reading) = (sender.clone(), Arc::clone(self.link), Arc::clone(reading));
                let origin = Arc::clone(&self.origin);
                let asking =
                    async move { (call, ask(&link.typed, sender, &origin, request, &reading).await) };
                self.open.insert(call, self.asked.spawn(asking));
            }
            Descriptor::Cancellation { call } => self.cancel(call),
            // Notices about frames, of which there are none.
            _ => {}
        }
    }

    fn cancel(&mut self, call: u64) {
        if let Some(asking) = self.open.remove(&call) {
            asking.abort();
        }
    }

    /// Leaves a call to another connection, since the server takes no more on this one.
    fn leave(&mut self, descriptor: &Descriptor) {
        self.state.services.closed(self.link, self.state.now());
        self.link.retire();
        match *descriptor {
            Descriptor::Cancellation { call } => self.cancel(call),
            _ => {
                let reason = "the server takes no more calls on the connection".into();
                let refusal = Refusal { kind: FailureKind::Unavailable, reason };
                elsewhere::pass_on(self.link, descriptor, Some(&refusal), self.state);
            }
        }
    }

    /// Takes the responses that had come whole when the connection ended.
    async fn drain(&mut self) {
        while let Ok(Some(answered)) = timeout(DRAINED, self.asked.join_next()).await {
            self.answer(answered);
        }
    }

    fn answer(&mut self, answered: Result<Outcome, JoinError>) {
        // A call that was cancelled has no outcome.
        if let Ok((call, outcome)) = answered {
            self.open.remove(&call);
            answer(self.link, call, outcome, self.state);
        }
    }
}

/// Gives the outcome of a call to its caller.
fn answer(link: &Arc<Link>, call: u64, outcome: Result<request::Answer, Failed>, state: &State) {
    match outcome {
        Ok((frame, at)) => {
            let message = InHeap { at, bytes: frame.len() as u32, number: link.keep(frame) };
            let response = Descriptor::Response { call, message };
            if let Err(breach) = server::take(link, &[response], state) {
                tracing::error!(reason = breach.0, "the daemon does not follow its own protocol");
            }
        }
        Err(Failed { status, may_have_run }) => {
            if status.details == Details::Garbled {
                state.garbled_details.fetch_add(1, Ordering::Relaxed);
            }
            server::fail(link, call, (status.refusal(), status.details), may_have_run, state)
        }
    }
}

/// Returns true if a connection takes no more calls: the server has said so, or the connection has failed.
fn has_ended(sender: &mut SendRequest<Bytes>) -> bool {
    matches!(sender.poll_ready(&mut Context::from_waker(Waker::noop())), Poll::Ready(Err(_)))
}
