//! Changes, as the server publishes them.

use super::super::{Revision, Watch};
use super::PATIENCE;
use super::failure::{failure, malformed};
use bertha_core::{Error, ErrorKind};
use futures_util::StreamExt;
use redis::Client;
use redis::aio::PubSub;
use std::fmt;

/// Reports changes of a connection's entries in Redis, over a connection to the server of its own.
pub struct RedisWatch {
    messages: PubSub,
}

impl RedisWatch {
    pub(super) async fn new(client: &Client, channel: &str) -> Result<Self, Error> {
        let subscribe = async {
            let mut messages = client.get_async_pubsub().await.map_err(failure)?;
            messages.subscribe(channel).await.map_err(failure)?;
            Ok(Self { messages })
        };
        let late = |_| {
            Err(Error::new(ErrorKind::Unreachable, "the server does not answer; is it running?")
                .at("RedisStore"))
        };
        tokio::time::timeout(PATIENCE, subscribe).await.unwrap_or_else(late)
    }
}

impl Watch for RedisWatch {
    async fn changed(&mut self) -> Result<Revision, Error> {
        match self.messages.on_message().next().await {
            Some(message) => {
                let revision =
                    message.get_payload().map_err(|_| malformed("a change without its revision"))?;
                Ok(Revision(revision))
            }
            None => Err(Error::new(ErrorKind::Unreachable, "the server hung up").at("RedisStore")),
        }
    }
}

impl fmt::Debug for RedisWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisWatch").finish_non_exhaustive()
    }
}
