//! The publishing end of a topic.

use super::clients::Reports;
use super::failure::{ended, failure, unauthenticated, unreachable};
use crate::{Outgoing, Publisher, Unsent};
use bertha_core::{Error, ErrorKind};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{FutureProducer, FutureRecord, Producer};

/// An end that publishes to a topic of Kafka. Calls are ready when all in-sync replicas have the messages.
///
/// All publishers of a [`Kafka`](super::Kafka) share a client, which gathers their messages into as few
/// requests as it can.
pub struct KafkaPublisher {
    pub(crate) producer: FutureProducer<Reports>,
    pub(crate) reports: Reports,
    pub(crate) topic: String,
}

impl KafkaPublisher {
    /// Returns the error, or its cause if the client has ended for good.
    fn failure(&self, error: KafkaError) -> Error {
        let is_ended = error.rdkafka_error_code() == Some(RDKafkaErrorCode::Fatal);
        match self.producer.client().fatal_error() {
            Some((code, text)) if is_ended => ended(code, &text),
            _ => failure(error),
        }
    }
}

impl Publisher for KafkaPublisher {
    async fn publish(&self, burst: &[Outgoing<'_>]) -> Result<Vec<Unsent>, Error> {
        let mut confirmations = Vec::with_capacity(burst.len());
        let mut refused = None;
        for message in burst {
            // The bytes of the key decide about the partition, as for other clients of Kafka.
            let key = message.key.map(u64::to_be_bytes);
            let mut record = FutureRecord::to(&self.topic).payload(message.payload);
            record.key = key.as_ref().map(|key| &key[..]);
            match self.producer.send_result(record) {
                Ok(confirmation) => confirmations.push(confirmation),
                // Later messages stay back, so that the order can be kept when this message is tried again.
                Err((error, _)) => {
                    refused = Some(self.failure(error));
                    break;
                }
            }
        }
        let sent = confirmations.len();
        let mut unsent = Vec::new();
        for (at, confirmation) in confirmations.into_iter().enumerate() {
            let error = match confirmation.await {
                Ok(Ok(_)) => continue,
                Ok(Err((error, _))) => self.failure(error),
                Err(_) => unreachable("the client was closed"),
            };
            let refusal = self.reports.refusal().filter(|_| error.kind() == ErrorKind::Unreachable);
            unsent.push(Unsent { at, error: refusal.map_or(error, |text| unauthenticated(&text)) });
        }
        if let Some(error) = refused {
            let kind = error.kind();
            let text = error.context().to_owned();
            let behind = (sent + 1..burst.len())
                .map(|at| Unsent { at, error: Error::new(kind, text.clone()).at("Kafka") });
            unsent.push(Unsent { at: sent, error });
            unsent.extend(behind);
        }
        Ok(unsent)
    }
}

bertha_core::debug_fields!(KafkaPublisher { topic });
