//! SQS by `aws-sdk-sqs`.

use crate::figures::pubsub::by_hand_failed as failed;
use crate::figures::pubsub::counted::Count;
use crate::figures::pubsub::exchange::{Receives, Sends, group, number};
use crate::figures::pubsub::place::aws;
use crate::{Error, ErrorKind};
use aws_sdk_sqs::Client;

/// A publisher to a queue.
pub(crate) struct SqsPublisher {
    client: Client,
    queue: String,
    is_fifo: bool,
    count: Count,
}

impl SqsPublisher {
    pub(crate) async fn open(
        endpoint: &str,
        topic: &str,
        is_fifo: bool,
        count: Count,
    ) -> Result<Self, Error> {
        let (client, queue) = connect(endpoint, topic, is_fifo).await?;
        Ok(Self { client, queue, is_fifo, count })
    }
}

impl Sends for SqsPublisher {
    async fn send(&self, message: Vec<u8>) -> Result<(), Error> {
        self.count.call();
        let text = String::from_utf8(message).map_err(failed)?;
        let mut call = self.client.send_message().queue_url(&self.queue);
        if self.is_fifo {
            let group = String::from_utf8_lossy(group(text.as_bytes()));
            let id = format!("{:032x}", rand::random::<u128>());
            call = call.message_group_id(group).message_deduplication_id(id);
        }
        call.message_body(text).send().await.map(drop).map_err(failed)
    }
}

/// A receiver of a queue.
pub(crate) struct SqsReceiver {
    client: Client,
    queue: String,
    held: Option<String>,
    count: Count,
}

impl SqsReceiver {
    pub(crate) async fn open(
        endpoint: &str,
        topic: &str,
        is_fifo: bool,
        count: Count,
    ) -> Result<Self, Error> {
        let (client, queue) = connect(endpoint, topic, is_fifo).await?;
        Ok(Self { client, queue, held: None, count })
    }
}

impl Receives for SqsReceiver {
    async fn receive(&mut self) -> Result<Vec<u32>, Error> {
        loop {
            self.count.call();
            let call = self.client.receive_message().queue_url(&self.queue);
            let answer = call.max_number_of_messages(1).wait_time_seconds(20).send().await.map_err(failed)?;
            if let Some(message) = answer.messages.unwrap_or_default().pop() {
                self.held = message.receipt_handle;
                return Ok(vec![number(message.body.unwrap_or_default().as_bytes())?]);
            }
        }
    }

    async fn acknowledge(&mut self) -> Result<(), Error> {
        let Some(receipt) = self.held.take() else { return Ok(()) };
        self.count.call();
        let call = self.client.delete_message().queue_url(&self.queue).receipt_handle(receipt);
        call.send().await.map(drop).map_err(failed)
    }
}

async fn connect(endpoint: &str, topic: &str, is_fifo: bool) -> Result<(Client, String), Error> {
    let client = Client::new(&aws(endpoint));
    let name = if is_fifo { format!("{topic}.fifo") } else { topic.to_owned() };
    let answer = client.get_queue_url().queue_name(name).send().await.map_err(failed)?;
    let queue =
        answer.queue_url.ok_or_else(|| Error::new(ErrorKind::Socket, "a queue without an address"))?;
    Ok((client, queue))
}
