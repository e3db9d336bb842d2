//! Clients and servers over any stack.

use crate::Message;
use bertha_core::{Addr, BoxFuture, Connection, Error};
use bertha_local::Registration;
use bertha_negotiation::{Negotiate, Runs, Settings};
use std::fmt;
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

/// The work of a service.
pub type Handler = Arc<dyn Fn(Message) -> BoxFuture<'static, Result<Message, Error>> + Send + Sync>;

/// A connection to a service, for a single request at a time; further calls wait.
#[derive(Clone)]
pub struct Call(Arc<dyn Fn(Message) -> BoxFuture<'static, Result<Message, Error>> + Send + Sync>);

impl Call {
    /// Asks, and waits for the answer. If a request or answer is lost, the wait has no end: over datagrams a
    /// caller sets a time limit.
    ///
    /// # Errors
    /// Errors of the connection.
    pub async fn ask(&self, request: Message) -> Result<Message, Error> {
        (self.0)(request).await
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Call")
    }
}

/// A service that runs until the value is dropped.
#[derive(Debug)]
pub struct Serving {
    /// Address at which the service listens.
    pub addr: Addr,
    pub(crate) registration: Option<Registration>,
    _accepting: JoinSet<()>,
}

/// Connects with this stack.
pub(crate) async fn connect<S, D>(stack: S, datapath: D, to: Addr) -> Result<Call, Error>
where
    S: Negotiate + Sync,
    D: Runs<S, Out: Connection<Data = Message>>,
{
    let connection = Arc::new(stack.connect(datapath, to).await?);
    let turn = Arc::new(Mutex::new(()));
    Ok(Call(Arc::new(move |request| {
        let connection = connection.clone();
        let turn = turn.clone();
        Box::pin(async move {
            let _turn = turn.lock().await;
            connection.send(request).await?;
            connection.recv().await
        })
    })))
}

/// Serves with this stack.
pub(crate) async fn serve<S, D>(stack: S, datapath: D, on: Addr, handler: Handler) -> Result<Serving, Error>
where
    S: Negotiate + Sync + 'static,
    D: Runs<S, Out: Connection<Data = Message>>,
{
    // A load generator connects from a single address as fast as it can.
    let settings = Settings::default().offers_per_second(u32::MAX);
    let mut incoming = stack.listen(datapath, on).settings(settings).await?;
    let addr = incoming.local_addr();
    let mut accepting = JoinSet::new();
    accepting.spawn(async move {
        let mut clients = JoinSet::new();
        while let Some(connection) = incoming.next().await {
            while clients.try_join_next().is_some() {}
            let handler = handler.clone();
            clients.spawn(async move {
                loop {
                    let answered = match connection.recv().await {
                        Ok(request) => {
                            let Ok(answer) = handler(request).await else { break };
                            connection.send(answer).await
                        }
                        Err(error) => Err(error),
                    };
                    if answered.is_err_and(|error| error.ends_connection()) {
                        break;
                    }
                }
            });
        }
    });
    Ok(Serving { addr, registration: None, _accepting: accepting })
}
