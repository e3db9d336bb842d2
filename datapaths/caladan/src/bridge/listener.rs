//! Acceptance on one runtime for another.

use super::attention::Attention;
use super::connection::BridgedConnection;
use super::ring::Ring;
use crate::failure::failure;
use crate::{CaladanBase, Task};
use bertha_core::{Addr, Buf, Connection, Error, ErrorKind, Listener, Properties};
use std::sync::Arc;

/// A listener over Caladan for tasks of tokio. Up to 128 connections that were not accepted yet wait here, in
/// addition to those that wait in Caladan.
pub struct BridgedListener {
    pub(super) accepted: Arc<Ring<Result<BridgedConnection, Error>>>,
    pub(super) local: Addr,
    pub(super) properties: Option<Properties>,
    pub(super) _accepting: Task,
    pub(super) _attention: Attention,
}

/// Accepts until the listener can't go on.
pub(super) async fn accept<L>(listener: L, accepted: Arc<Ring<Result<BridgedConnection, Error>>>)
where
    L: Listener<Connection: Connection<Data = Buf, Base = CaladanBase>>,
{
    loop {
        let connection = listener.accept().await.map(BridgedConnection::new);
        let is_last = connection.as_ref().is_err_and(|error| error.kind() != ErrorKind::Exhausted);
        if !accepted.push(connection).await || is_last {
            return;
        }
    }
}

impl Listener for BridgedListener {
    type Connection = BridgedConnection;

    async fn accept(&self) -> Result<BridgedConnection, Error> {
        let ended = || Err(failure(ErrorKind::Closed, "the listener has ended"));
        self.accepted.pop().await.unwrap_or_else(ended)
    }

    fn local_addr(&self) -> Addr {
        self.local.clone()
    }

    fn properties(&self) -> Option<Properties> {
        self.properties
    }
}

bertha_core::debug_fields!(BridgedListener { local });
