//! A server for checks of its clients.

use bertha_core::{Connection, Listener};
use futures_util::future::{Either, select};
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::pin::pin;

/// Returns everything that comes to `listener` to its sender while `clients` runs.
pub(super) async fn while_echoing<L: Listener, T>(listener: &L, clients: impl Future<Output = T>) -> T {
    let mut clients = pin!(clients);
    let mut connections = FuturesUnordered::new();
    let mut accept = Box::pin(listener.accept());
    loop {
        let serve = pin!(async {
            if connections.next().await.is_none() {
                std::future::pending::<()>().await;
            }
        });
        match select(clients.as_mut(), select(accept.as_mut(), serve)).await {
            Either::Left((result, _)) => return result,
            Either::Right((Either::Left((accepted, _)), _)) => {
                let connection = accepted.unwrap_or_else(|error| panic!("the listener ended: {error}"));
                connections.push(echo(connection));
                accept = Box::pin(listener.accept());
            }
            Either::Right((Either::Right(_), _)) => {}
        }
    }
}

/// Returns everything that comes to its sender, until the connection ends.
async fn echo<C: Connection>(connection: C) {
    while let Ok(message) = connection.recv().await {
        if connection.send(message).await.is_err() {
            return;
        }
    }
}
