//! The end that sends requests.

use bertha_core::{BoxFuture, Connection, Error, ErrorKind};
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::Mutex;
use tower_service::Service;

/// A connection whose replies come in the order of the requests, as a service of tower. One request is under
/// way at a time; further calls wait their turn. Clones share the connection.
///
/// If the future of a call is dropped while it waits for its reply, the next call skips that reply. If it is
/// dropped while its request is being sent, it is unknown if the request was sent: later calls fail with
/// [`Reset`](ErrorKind::Reset). The connection has to be reliable and ordered: if a reply is lost, a call
/// waits until its future is dropped, for instance by `tower::timeout`.
pub struct Requests<C> {
    shared: Arc<RequestsShared<C>>,
}

struct RequestsShared<C> {
    connection: C,
    turn: Mutex<Turn>,
}

#[derive(Debug, Default)]
struct Turn {
    /// Number of requests that were sent and whose replies have not come.
    unanswered: u64,
    /// True while a request is being sent.
    is_sending: bool,
}

impl<C: Connection> Requests<C> {
    /// Makes a service over this connection.
    pub fn new(connection: C) -> Self {
        Self { shared: Arc::new(RequestsShared { connection, turn: Mutex::default() }) }
    }
}

impl<C: Connection> RequestsShared<C> {
    async fn ask(&self, request: C::Data) -> Result<C::Data, Error> {
        let mut turn = self.turn.lock().await;
        if turn.is_sending {
            let what = "a request was given up while it was being sent, so replies can't be told apart; connect anew";
            return Err(Error::new(ErrorKind::Reset, what).at("Requests"));
        }
        turn.is_sending = true;
        let sent = self.connection.send(request).await;
        turn.is_sending = false;
        sent?;
        turn.unanswered += 1;
        loop {
            let reply = self.connection.recv().await?;
            turn.unanswered -= 1;
            if turn.unanswered == 0 {
                return Ok(reply);
            }
        }
    }
}

impl<C: Connection> Service<C::Data> for Requests<C> {
    type Response = C::Data;
    type Error = Error;
    type Future = BoxFuture<'static, Result<C::Data, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: C::Data) -> Self::Future {
        let shared = self.shared.clone();
        Box::pin(async move { shared.ask(request).await })
    }
}

impl<C> Clone for Requests<C> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

bertha_core::debug_fields!(Requests<C> {});
