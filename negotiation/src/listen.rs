//! Listening: the builder that [`Negotiate::listen`](crate::Negotiate::listen) returns, and the clients that
//! come.

mod admission;
mod confirmation;
mod handshakes;
mod incoming;
mod observed;
mod outcome;
mod overload;
mod patience;
mod progress;
mod replies;
mod roaming;
mod server;
mod stages;
mod statistics;
mod steering;

use crate::handshake::{Requirements, check_possible};
use crate::happy_eyeballs::HappyEyeballs;
use crate::{Runs, Settings, observing};
use bertha_core::statistics::Observed;
use bertha_core::{BoxFuture, Describe, Destination, Error, Listener, Properties, Role};
pub use incoming::Incoming;
pub use overload::Overload;
use server::Server;
pub use statistics::IncomingStatistics;
use std::fmt;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Maximum number of messages of links that wait for the listener.
const FROM_LINKS: usize = 1024;

/// A server to be started. Awaiting it starts to listen; until then it can be given other settings.
#[must_use = "it listens once it is awaited"]
pub struct Listen<S, D> {
    stack: S,
    datapath: D,
    on: HappyEyeballs,
    settings: Settings,
}

impl<S, D> Listen<S, D> {
    pub(crate) fn new(stack: S, datapath: D, on: Destination) -> Self {
        let on = HappyEyeballs { to: on, resolver: None };
        Self { stack, datapath, on, settings: Settings::default() }
    }

    /// Sets other times, bounds, credentials or a floor than the [defaults](Settings).
    pub fn settings(self, settings: Settings) -> Self {
        Self { settings, ..self }
    }
}

/// # Errors
/// [`Invalid`](bertha_core::ErrorKind::Invalid) if no alternative of the stack can hold over this datapath,
/// as far as that is known [before a client is there](bertha_core::Listener::properties). Otherwise each
/// client gets this error. The errors of the datapath, if the address can't be used. For a name also the
/// errors of [`Connect`](crate::Connect) that come from the resolution.
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
async fn listen<S, D>(
    stack: S,
    datapath: D,
    on: HappyEyeballs,
    settings: Settings,
) -> Result<Incoming<S, D>, Error>
where
    S: Describe + Send + Sync + 'static,
    D: Runs<S>,
{
    settings.credentials.check(Role::Server)?;
    let settings = Arc::new(settings);
    let nodes = stack.nodes();
    let listener = on.first(&datapath, settings.handshake_timeout, |addr, _| datapath.listen(addr)).await?;
    // Properties that are unknown before there is a client are checked then; no datapath promises more than a
    // stream.
    let requirements = Requirements::new(settings.floor, listener.properties().unwrap_or(Properties::STREAM));
    check_possible(&nodes, requirements)?;
    let nodes = steering::steered(nodes, |by| listener.steer(by))?;
    let (to_listener, from_links) = mpsc::channel(FROM_LINKS);
    tracing::debug!(target: "bertha::negotiation", stack = %stack.explain(), addr = %listener.local_addr(), "listening");
    let server = Arc::new(Server::new(stack, nodes, datapath, listener, settings, to_listener));
    let observed: Arc<dyn Observed> = server.clone();
    observing::listening(|| server.listener.local_addr(), Arc::downgrade(&observed));
    Ok(Incoming::new(server, from_links))
}
