//! Listening: the builder that [`Negotiate::listen`](crate::Negotiate::listen) returns, and the clients that come.

mod admission;
mod confirmation;
mod server;

use crate::handshake::{Requirements, check_possible};
use crate::link::FromLink;
use crate::{Negotiated, Runs, Settings};
use bertha_core::{Addr, BoxFuture, Describe, Error, Listener, Properties, Role};
use futures_util::future::{FutureExt, pending};
use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt, select_biased};
use server::{Outcome, Server};
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use tokio::sync::mpsc;

/// The number of refused connection ids that are remembered, so that a repeated offer is not reported twice.
const REFUSED: usize = 64;

/// A server to be started. Awaiting it starts to listen; until then it can be given other settings.
#[must_use = "it listens once it is awaited"]
pub struct Listen<S, D> {
    stack: S,
    datapath: D,
    on: Addr,
    settings: Settings,
}

impl<S, D> Listen<S, D> {
    pub(crate) fn new(stack: S, datapath: D, on: Addr) -> Self {
        Self { stack, datapath, on, settings: Settings::default() }
    }

    /// Sets other times, bounds, credentials or a floor than the [defaults](Settings).
    pub fn settings(self, settings: Settings) -> Self {
        Self { settings, ..self }
    }
}

/// # Errors
/// [`Invalid`](bertha_core::ErrorKind::Invalid) if no alternative of the stack can hold over this datapath, as far as
/// that is known [before a client is there](bertha_core::Listener::properties); else each client gets that error.
/// Those of the datapath, if the address can't be used.
impl<S, D> IntoFuture for Listen<S, D>
where
    S: Describe + Send + Sync + 'static,
    D: Runs<S>,
{
    type Output = Result<Incoming<S, D>, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { stack, datapath, on, settings } = self;
        Box::pin(listen(stack, datapath, on, settings))
    }
}

impl<S: Describe, D> fmt::Debug for Listen<S, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Listen([{}] on {})", self.stack.explain(), self.on)
    }
}

/// Starts to serve.
async fn listen<S, D>(stack: S, datapath: D, on: Addr, settings: Settings) -> Result<Incoming<S, D>, Error>
where
    S: Describe,
    D: Runs<S>,
{
    settings.credentials.check(Role::Server)?;
    let settings = Arc::new(settings);
    let nodes = stack.nodes();
    let listener = datapath.listen(on).await?;
    // Properties that are unknown before there is a client are checked then; no datapath promises more than a stream.
    let requirements = Requirements::new(settings.floor, listener.properties().unwrap_or(Properties::STREAM));
    check_possible(&nodes, requirements)?;
    let (to_listener, from_links) = mpsc::channel(settings.concurrent_handshakes.max(1));
    tracing::debug!(stack = %stack.explain(), addr = %listener.local_addr(), "listening");
    let server = Arc::new(Server::new((stack, nodes), (datapath, listener), settings, to_listener));
    Ok(Incoming { server, from_links, handshakes: FuturesUnordered::new(), refused: VecDeque::new() })
}

/// The clients of a server: each item is a connection, or the error that kept one client from getting one.
///
/// Handshakes make progress while [`next`](Self::next) is awaited, up to a bounded number at once; with inline
/// demultiplexing, so do the connections of the same listener.
pub struct Incoming<S, D: Runs<S>> {
    server: Arc<Server<S, D>>,
    from_links: mpsc::Receiver<FromLink<D::Connection>>,
    handshakes: FuturesUnordered<BoxFuture<'static, Outcome<D::Out>>>,
    refused: VecDeque<u64>,
}

impl<S, D> Incoming<S, D>
where
    S: Send + Sync + 'static,
    D: Runs<S>,
{
    /// Waits for the next client. One bad client is an item of its own and does not end the loop; nothing after the
    /// last item but `None`, when the datapath's listener has failed for good. Cancellation-safe.
    pub async fn next(&mut self) -> Option<Result<Negotiated<D::Out>, Error>> {
        loop {
            let is_full = self.handshakes.len() >= self.server.settings.concurrent_handshakes;
            let server = self.server.clone();
            let mut accept = pin!(
                async move { if is_full { pending().await } else { server.listener.accept().await } }.fuse()
            );
            let mut handshake: BoxFuture<'static, _> = select_biased! {
                outcome = self.handshakes.select_next_some() => match self.report(outcome) {
                    Some(item) => return Some(item),
                    None => continue,
                },
                from_link = self.from_links.recv().fuse() => match from_link {
                    Some(FromLink::Offered { base, offer, fresh, slot }) => {
                        Box::pin(self.server.clone().reoffered(base, offer, fresh, slot))
                    }
                    Some(FromLink::Confirmed { base, accepted, overtaken }) => {
                        Box::pin(self.server.clone().welcome(base, accepted, overtaken))
                    }
                    None => continue,
                },
                accepted = accept => match accepted {
                    Ok(base) => Box::pin(self.server.clone().meet(Arc::new(base))),
                    Err(error) => {
                        tracing::error!(%error, "the listener has failed");
                        return None;
                    }
                },
            };
            // Most are over at once, since the offer is there, and need no place among those that wait.
            match poll_fn(|cx| Poll::Ready(handshake.as_mut().poll(cx))).await {
                Poll::Ready(outcome) => match self.report(outcome) {
                    Some(item) => return Some(item),
                    None => continue,
                },
                Poll::Pending => self.handshakes.push(handshake),
            }
        }
    }

    fn report(&mut self, outcome: Outcome<D::Out>) -> Option<Result<Negotiated<D::Out>, Error>> {
        match outcome {
            Outcome::Accepted(connection) => Some(Ok(connection)),
            Outcome::Failed(error) => Some(Err(error)),
            Outcome::Nothing => None,
            Outcome::Refused { id, .. } if self.refused.contains(&id) => None,
            Outcome::Refused { id, error } => {
                if self.refused.len() == REFUSED {
                    self.refused.pop_front();
                }
                self.refused.push_back(id);
                Some(Err(error))
            }
        }
    }
}

impl<S, D: Runs<S>> Incoming<S, D> {
    /// Where the server listens, with the port that the system chose.
    pub fn local_addr(&self) -> Addr {
        self.server.listener.local_addr()
    }

    /// The number of messages from unknown addresses that were dropped because they were no offers, or too many.
    pub fn dropped(&self) -> u64 {
        self.server.dropped()
    }
}

impl<S, D: Runs<S>> fmt::Debug for Incoming<S, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming")
            .field("addr", &self.local_addr())
            .field("handshakes", &self.handshakes.len())
            .finish_non_exhaustive()
    }
}
