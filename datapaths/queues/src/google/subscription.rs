//! The receiving end of a subscription.

use super::client::Client;
use super::extender::Extender;
use crate::{Incoming, Subscription};
use bertha_core::Error;
use gcloud_googleapis::pubsub::v1::{
    AcknowledgeRequest, ModifyAckDeadlineRequest, PullRequest, PullResponse, ReceivedMessage,
};
use std::time::Duration;
use tonic::Code;

/// Largest number of messages in a call.
pub(crate) const BATCH: usize = 1000;

/// Time limit of a call that waits for messages. The service answers sooner; a call that is abandoned while
/// the service hands out messages would delay them by a deadline.
const PULL_TIMEOUT: Duration = Duration::from_secs(120);

/// Shortest wait at the service: calls with a shorter wait don't wait at all.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);

/// An end that receives from a subscription of a topic in Pub/Sub.
#[derive(Debug)]
pub struct PubSubSubscription {
    pub(crate) client: Client,
    pub(crate) name: String,
    pub(crate) extender: Extender,
}

/// The acknowledgement id of Pub/Sub for a delivered message.
#[derive(Debug, Clone)]
pub struct PubSubReceipt(String);

impl Subscription for PubSubSubscription {
    type Receipt = PubSubReceipt;

    async fn receive(&self, limit: usize, wait: Duration) -> Result<Vec<Incoming<PubSubReceipt>>, Error> {
        // The only way to receive without waiting is deprecated, because polling without a pause costs
        // latency and money.
        #[allow(deprecated)]
        let request = PullRequest {
            subscription: self.name.clone(),
            max_messages: limit.clamp(1, BATCH) as i32,
            return_immediately: wait < SHORTEST_WAIT,
        };
        let mut stub = self.client.subscriber();
        let call =
            self.client.call(&self.name, request, PULL_TIMEOUT, |it| async move { stub.pull(it).await });
        let PullResponse { received_messages } = match call.await? {
            Ok(answer) => answer,
            Err(status) if status.code() == Code::DeadlineExceeded => return Ok(Vec::new()),
            Err(status) => return Err(self.client.failure("receiving from", &self.name, status)),
        };
        self.extender.begin(received_messages.iter().map(|message| message.ack_id.as_str()));
        Ok(received_messages.into_iter().map(incoming).collect())
    }

    async fn acknowledge(&self, receipts: &[PubSubReceipt]) -> Result<(), Error> {
        let request = AcknowledgeRequest { subscription: self.name.clone(), ack_ids: self.let_go(receipts) };
        let mut stub = self.client.subscriber();
        self.client
            .expect("acknowledging to", &self.name, request, |it| async move { stub.acknowledge(it).await })
            .await
    }

    async fn give_back(&self, receipts: &[PubSubReceipt]) -> Result<(), Error> {
        let request = ModifyAckDeadlineRequest {
            subscription: self.name.clone(),
            ack_ids: self.let_go(receipts),
            ack_deadline_seconds: 0,
        };
        let mut stub = self.client.subscriber();
        let call = self.client.expect("giving back to", &self.name, request, |it| async move {
            stub.modify_ack_deadline(it).await
        });
        call.await
    }
}

impl PubSubSubscription {
    /// Removes messages from the held messages, and returns their ids.
    fn let_go(&self, receipts: &[PubSubReceipt]) -> Vec<String> {
        self.extender.end(receipts.iter().map(|receipt| receipt.0.as_str()));
        receipts.iter().map(|receipt| receipt.0.clone()).collect()
    }
}

fn incoming(message: ReceivedMessage) -> Incoming<PubSubReceipt> {
    let payload = message.message.map(|message| message.data).unwrap_or_default();
    Incoming { payload, receipt: PubSubReceipt(message.ack_id) }
}
