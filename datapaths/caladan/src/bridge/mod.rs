//! Caladan for programs on tokio.

mod attention;
mod connection;
mod listener;
mod ring;

use crate::failure::failure;
use crate::run::start;
use crate::{Caladan, CaladanBase, CaladanRuntime, Config};
use attention::Attention;
use bertha_core::{Addr, Connection, Datapath, Error, ErrorKind, Listener, Runtime};
use bertha_runtime::tokio::TokioRuntime;
pub use connection::BridgedConnection;
pub use listener::BridgedListener;
use ring::Ring;
use std::sync::Arc;

/// Number of connections that may wait to be accepted.
const BACKLOG: usize = 128;

/// A datapath over Caladan for tasks of tokio: Caladan's runtime runs beside tokio, on threads of its own,
/// and messages go over bounded rings between the two runtimes. So programs that need tokio need no other
/// change; the price is the way between threads, about a millisecond for a message after a pause, and a
/// thread of Caladan's that looks for messages while they flow.
///
/// A dropped connection or listener ends within a millisecond: a message that arrives for it until then is
/// lost.
///
/// The first `connect` or `listen` starts the runtime, and blocks for as long as that takes.
#[derive(Debug, Clone, Default)]
pub struct Bridged<D = Caladan> {
    datapath: D,
    /// Settings of the runtime; `None` stands for the settings of the environment.
    config: Option<Config>,
}

impl Bridged {
    /// Creates UDP over the runtime that the environment describes; see [`Config::from_env`].
    pub fn new() -> Self {
        Self::default()
    }
}

impl<D> Bridged<D> {
    /// Creates `datapath` over the runtime that `config` describes.
    pub fn over(datapath: D, config: &Config) -> Self {
        Self { datapath, config: Some(config.clone()) }
    }

    fn start(&self) -> Result<(), Error> {
        match &self.config {
            Some(config) => start(config),
            None => start(&Config::from_env()?),
        }
    }
}

/// Runs `action` on Caladan's runtime, unless the caller drops the future.
async fn on_caladan<T: Send + 'static>(action: impl Future<Output = T> + Send + 'static) -> Result<T, Error> {
    let output = Arc::new(Ring::new(1));
    let into = output.clone();
    let _attention = Attention::new();
    let _task = CaladanRuntime.spawn(async move {
        into.push(action.await).await;
    });
    output.pop().await.ok_or_else(|| failure(ErrorKind::Io, "Caladan's runtime did not answer"))
}

impl<D> Datapath for Bridged<D>
where
    D: Datapath<Connection: Connection<Base = CaladanBase>> + Clone,
{
    type Connection = BridgedConnection;
    type Listener = BridgedListener;

    async fn connect(&self, to: Addr) -> Result<BridgedConnection, Error> {
        self.start()?;
        let datapath = self.datapath.clone();
        on_caladan(async move { datapath.connect(to).await.map(BridgedConnection::new) }).await?
    }

    async fn listen(&self, on: Addr) -> Result<BridgedListener, Error> {
        self.start()?;
        let datapath = self.datapath.clone();
        let listener = on_caladan(async move { datapath.listen(on).await }).await??;
        let local = listener.local_addr();
        let properties = listener.properties();
        let accepted = Arc::new(Ring::new(BACKLOG));
        let accepting = CaladanRuntime.spawn(listener::accept(listener, accepted.clone()));
        Ok(BridgedListener {
            accepted,
            local,
            properties,
            _accepting: accepting,
            _attention: Attention::new(),
        })
    }

    fn runtime(&self) -> Option<TokioRuntime> {
        TokioRuntime::current()
    }
}
