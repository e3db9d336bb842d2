//! The connections to the server.

use super::failure::failure;
use bertha_core::Error;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisError};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// Time limit of connecting, and of each answer that the server does not delay on purpose.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection that is opened when it is needed, and opened again after it was lost.
#[derive(Clone)]
pub(crate) struct Server {
    client: Client,
    connection: Arc<Mutex<Option<MultiplexedConnection>>>,
    /// Time limit of an answer; `None` for a connection whose answers the server delays.
    timeout: Option<Duration>,
}

impl Server {
    pub(crate) fn new(client: Client) -> Self {
        Self { client, connection: Arc::default(), timeout: Some(ANSWER_TIMEOUT) }
    }

    /// Returns another connection to this server, for calls that wait there and hold up the calls behind
    /// them.
    pub(crate) fn for_waiting(&self) -> Self {
        Self { client: self.client.clone(), connection: Arc::default(), timeout: None }
    }

    pub(crate) async fn connection(&self) -> Result<MultiplexedConnection, Error> {
        let mut connection = self.connection.lock().await;
        if let Some(connection) = &*connection {
            return Ok(connection.clone());
        }
        // Connecting is rare: its future has a place of its own, and does not make the future of each call larger.
        let new = Box::pin(self.connect()).await?;
        Ok(connection.insert(new).clone())
    }

    async fn connect(&self) -> Result<MultiplexedConnection, Error> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(ANSWER_TIMEOUT))
            .set_response_timeout(self.timeout);
        self.client.get_multiplexed_async_connection_with_config(&config).await.map_err(failure)
    }

    /// Returns the error of a call, and drops the connection if it is of no more use.
    pub(crate) async fn failed(&self, error: RedisError) -> Error {
        if error.is_unrecoverable_error() || error.is_timeout() {
            self.close().await;
        }
        failure(error)
    }

    pub(crate) async fn close(&self) {
        self.connection.lock().await.take();
    }

    /// Returns the server's address, without a login.
    pub(crate) fn address(&self) -> String {
        self.client.get_connection_info().addr().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_over_an_open_connection_has_no_place_for_connecting() {
        let server = Server::new(Client::open("redis://127.0.0.1").unwrap());
        let call = size_of_val(&server.connection());
        let connecting = size_of_val(&server.connect());
        assert!(call < connecting, "{call} bytes, and connecting takes {connecting}");
    }
}
