//! The service: how topics are opened, created and deleted.

use super::account::{Account, BATCH, http_client};
use super::encoding::OVERHEAD;
use super::names::Names;
use super::publisher::{Destination, SqsPublisher};
use super::queue::{self, Plan, RETENTION};
use super::subscription::SqsSubscription;
use super::topic;
use crate::{Abilities, Ordering, Service};
use aws_config::{BehaviorVersion, SdkConfig};
use bertha_core::Error;
use std::sync::Arc;
use std::time::Duration;

/// Largest number of bytes in a publishing call to SQS, for a single message or ten.
const SQS_LIMIT: usize = 1 << 20;

/// Largest number of bytes in a publishing call to SNS.
const SNS_LIMIT: usize = 256 << 10;

/// The longest visibility timeout.
const LONGEST_VISIBILITY: Duration = Duration::from_secs(12 * 60 * 60);

/// Amazon SQS, for topics with a single subscription; or with Amazon SNS in front, for any number of
/// subscriptions.
///
/// ```no_run
/// # use bertha_queues::sqs::Sqs;
/// # async fn run() {
/// let unordered = Sqs::connect().await;
/// let ordered_by_key = Sqs::connect().await.fifo();
/// let multicast = Sqs::connect().await.through_sns();
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Sqs {
    account: Arc<Account>,
    plan: Plan,
    through_sns: bool,
}

impl Sqs {
    /// Creates the service with credentials, region and endpoint by the default chain of the AWS SDKs. The
    /// call reads the environment and `~/.aws`; the first use shows if the service accepts the credentials.
    pub async fn connect() -> Self {
        let config = aws_config::defaults(BehaviorVersion::latest()).http_client(http_client()).load().await;
        Self::with_config(&config)
    }

    /// Creates the service with another configuration. Its settings for retries and time limits are not used;
    /// its HTTP client is used, if it has one.
    pub fn with_config(config: &SdkConfig) -> Self {
        Self {
            account: Arc::new(Account::new(config)),
            plan: Plan {
                names: Names { fifo: false },
                visibility: Duration::from_secs(30),
                deliveries: Some(10),
            },
            through_sns: false,
        }
    }

    /// Uses FIFO queues and FIFO topics, which keep order by key. Their names end with `.fifo`, here or only
    /// at the service.
    #[must_use]
    pub fn fifo(mut self) -> Self {
        self.plan.names.fifo = true;
        self
    }

    /// Puts an SNS topic in front of the queues: topics have any number of subscriptions, each of which is a
    /// queue.
    #[must_use]
    pub fn through_sns(mut self) -> Self {
        self.through_sns = true;
        self
    }

    /// Sets the time after which a message that was not acknowledged is delivered again: the visibility
    /// timeout, in whole seconds, 30 by default, at most 12 hours. The time should be longer than the
    /// application's work on a message, and shorter than a message may wait after a crash.
    #[must_use]
    pub fn redelivery(mut self, time: Duration) -> Self {
        self.plan.visibility = time.clamp(Duration::from_secs(1), LONGEST_VISIBILITY);
        self
    }

    /// Sets the number of deliveries after which a message goes to the queue for dead letters: 10 by default,
    /// at most 1000. With `None` it is delivered again and again. The setting applies to queues that are
    /// created later.
    #[must_use]
    pub fn dead_letters_after(mut self, deliveries: impl Into<Option<u32>>) -> Self {
        self.plan.deliveries = deliveries.into().map(|deliveries| deliveries.clamp(1, 1000));
        self
    }
}

impl Service for Sqs {
    type Publisher = SqsPublisher;
    type Subscription = SqsSubscription;

    fn abilities(&self, _: &str) -> Abilities {
        // A call with ten messages that are all in attributes has to fit.
        let limit = if self.through_sns { SNS_LIMIT } else { SQS_LIMIT } - BATCH * OVERHEAD;
        Abilities {
            service: if self.through_sns { "Amazon SNS and SQS" } else { "Amazon SQS" },
            ordering: if self.plan.names.fifo { Ordering::ByKey } else { Ordering::None },
            multicast: self.through_sns,
            max_message: limit,
            publish_batch: BATCH,
            publish_bytes: limit,
            receive_batch: BATCH,
            acknowledge_batch: BATCH,
            retention: Some(RETENTION),
            redelivery: self.plan.visibility,
            dead_letters: self.plan.deliveries.is_some(),
            one_by_one: self.plan.names.fifo,
        }
    }

    async fn publisher(&self, topic: &str) -> Result<SqsPublisher, Error> {
        let name = self.plan.names.topic(topic)?;
        let to = if self.through_sns {
            Destination::Topic(topic::open(&self.account, &name).await?)
        } else {
            Destination::Queue(self.queue(&name).await?)
        };
        Ok(SqsPublisher { account: self.account.clone(), to, fifo: self.plan.names.fifo })
    }

    async fn subscription(&self, topic: &str, name: &str) -> Result<SqsSubscription, Error> {
        let topic = self.plan.names.topic(topic)?;
        let queue = if self.through_sns {
            topic::subscribe(&self.account, &topic, name, self.plan).await?
        } else {
            let url = self.queue(&topic).await?;
            queue::claim(&self.account, &url, &topic, name).await?;
            url
        };
        Ok(SqsSubscription {
            account: self.account.clone(),
            queue,
            visibility: self.plan.visibility,
            deleting: Arc::default(),
            fifo: self.plan.names.fifo,
        })
    }

    async fn create(&self, topic: &str) -> Result<(), Error> {
        let name = self.plan.names.topic(topic)?;
        if self.through_sns {
            topic::create(&self.account, &name, self.plan.names).await
        } else {
            queue::create(&self.account, &name, self.plan).await.map(drop)
        }
    }

    async fn delete(&self, topic: &str) -> Result<(), Error> {
        let name = self.plan.names.topic(topic)?;
        if self.through_sns {
            topic::delete(&self.account, &name, self.plan.names).await
        } else {
            queue::delete(&self.account, &name, self.plan.names).await
        }
    }
}

impl Sqs {
    async fn queue(&self, name: &str) -> Result<String, Error> {
        queue::find(&self.account, name).await?.ok_or_else(|| queue::no_queue(name))
    }
}
