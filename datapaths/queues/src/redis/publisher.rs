//! The publishing end of a topic.

use super::failure::{failure, no_topic};
use super::server::Server;
use crate::{Outgoing, Publisher, Unsent};
use bertha_core::Error;
use redis::RedisResult;

/// Name of the field that holds the message of an entry.
pub(crate) const PAYLOAD: &str = "payload";

/// An end that publishes to a stream of Redis. A burst takes a single round trip.
pub struct RedisPublisher {
    pub(crate) server: Server,
    pub(crate) topic: String,
    pub(crate) length: usize,
}

impl Publisher for RedisPublisher {
    async fn publish(&self, burst: &[Outgoing<'_>]) -> Result<Vec<Unsent>, Error> {
        let mut connection = self.server.connection().await?;
        let mut calls = redis::pipe();
        for message in burst {
            // A deleted topic must not come back by itself, without its subscriptions.
            calls.cmd("XADD").arg(&self.topic).arg("NOMKSTREAM").arg("MAXLEN").arg("~").arg(self.length);
            calls.arg("*").arg(PAYLOAD).arg(message.payload);
        }
        let answers: RedisResult<Vec<RedisResult<Option<String>>>> =
            calls.ignore_errors().query_async(&mut connection).await;
        let answers = match answers {
            Ok(answers) => answers,
            Err(error) => return Err(self.server.failed(error).await),
        };
        let mut unsent = Vec::new();
        for (at, answer) in answers.into_iter().enumerate() {
            match answer {
                Ok(Some(_)) => {}
                Ok(None) => unsent.push(Unsent { at, error: no_topic(&self.topic) }),
                Err(error) => unsent.push(Unsent { at, error: failure(error) }),
            }
        }
        Ok(unsent)
    }
}

bertha_core::debug_fields!(RedisPublisher { topic });
