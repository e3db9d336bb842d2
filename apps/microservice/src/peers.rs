//! Clients and servers over any stack.

use crate::Message;
use bertha_core::{Addr, BoxFuture, Connection, Error};
use bertha_local::Registration;
use bertha_negotiation::{Negotiate, Negotiated, Runs, Settings};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

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

/// Longest time of a close.
const CLOSING: Duration = Duration::from_secs(1);

/// A service that runs until the value is dropped.
#[derive(Debug)]
pub struct Serving {
    /// Address at which the service listens.
    pub addr: Addr,
    pub(crate) registration: Option<Registration>,
    accepting: JoinSet<()>,
    /// Dropped when the service has to end.
    running: watch::Sender<()>,
}

impl Serving {
    /// Ends the service: accepts no further client, and closes the connections of all clients.
    pub async fn close(self) {
        let Self { registration, mut accepting, running, .. } = self;
        drop((registration, running));
        while accepting.join_next().await.is_some() {}
    }
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
    let (running, ended) = watch::channel(());
    accepting.spawn(async move {
        let mut clients = JoinSet::new();
        let mut closed = ended.clone();
        loop {
            tokio::select! {
                accepted = incoming.next() => match accepted {
                    Some(connection) => {
                        clients.spawn(answer(connection, handler.clone(), ended.clone()));
                    }
                    None => break,
                },
                Some(_) = clients.join_next() => {}
                // Nothing is sent.
                _ = closed.changed() => break,
            }
        }
        drop(incoming);
        while clients.join_next().await.is_some() {}
    });
    Ok(Serving { addr, registration: None, accepting, running })
}

/// Answers a client until the client has gone or the service ends; then closes the connection.
async fn answer<C: Connection<Data = Message>>(
    connection: Negotiated<C>,
    handler: Handler,
    mut ended: watch::Receiver<()>,
) {
    let answering = async {
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
    };
    tokio::select! {
        () = answering => return,
        _ = ended.changed() => {}
    }
    // The service ends, whether the client answers or not.
    let _ = timeout(CLOSING, connection.close()).await;
}
