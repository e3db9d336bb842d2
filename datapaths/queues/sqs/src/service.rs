//! The service's value: how topics are opened, created and deleted.

use crate::account::{Account, BATCH, http_client};
use crate::encoding::OVERHEAD;
use crate::names::Names;
use crate::publisher::{Destination, SqsPublisher};
use crate::queue::{self, Plan, RETENTION};
use crate::subscription::SqsSubscription;
use crate::topic;
use aws_config::{BehaviorVersion, SdkConfig};
use bertha_core::Error;
use bertha_queue::{Abilities, Ordering, Service};
use std::sync::Arc;
use std::time::Duration;

/// The most bytes in a call to SQS that publishes, of one message or of ten.
const SQS_LIMIT: usize = 1 << 20;

/// The same for SNS.
const SNS_LIMIT: usize = 256 << 10;

/// The longest visibility timeout.
const LONGEST_VISIBILITY: Duration = Duration::from_secs(12 * 60 * 60);

/// Amazon SQS, for topics with one subscription; or with Amazon SNS in front, for any number of them.
///
/// ```no_run
/// # use bertha_queue_sqs::Sqs;
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
    /// The service with credentials, region and endpoint by the default chain of the AWS SDKs. Reads the environment and `~/.aws`;
    /// whether the service takes them shows when it is used.
    pub async fn connect() -> Self {
        let config = aws_config::defaults(BehaviorVersion::latest()).http_client(http_client()).load().await;
        Self::with_config(&config)
    }

    /// The service with another configuration. Its settings for retries and time limits are not used; neither is its HTTP client
    /// replaced, if it has one.
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

    /// With FIFO queues and FIFO topics, which keep order by key. Their names end with `.fifo`, here or at the service.
    #[must_use]
    pub fn fifo(mut self) -> Self {
        self.plan.names.fifo = true;
        self
    }

    /// With an SNS topic in front of the queues: topics have any number of subscriptions, each of which is a queue.
    #[must_use]
    pub fn through_sns(mut self) -> Self {
        self.through_sns = true;
        self
    }

    /// With another time after which a message that was not acknowledged is delivered again: the visibility timeout, in whole
    /// seconds, 30 by default, at most 12 hours. Longer than the application works on a message, and shorter than it may wait after a crash.
    #[must_use]
    pub fn redeliver_after(mut self, time: Duration) -> Self {
        self.plan.visibility = time.clamp(Duration::from_secs(1), LONGEST_VISIBILITY);
        self
    }

    /// With another number of deliveries after which a message goes to the queue for dead letters, 10 by default, at most 1000. `None`:
    /// it is delivered again and again. Counts for queues that are created from now on.
    #[must_use]
    pub fn dead_letters_after(mut self, deliveries: Option<u32>) -> Self {
        self.plan.deliveries = deliveries.map(|deliveries| deliveries.clamp(1, 1000));
        self
    }
}

impl Service for Sqs {
    type Publisher = SqsPublisher;
    type Subscription = SqsSubscription;

    fn abilities(&self, _: &str) -> Abilities {
        // A call with ten messages that all travel as attributes has to fit.
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
