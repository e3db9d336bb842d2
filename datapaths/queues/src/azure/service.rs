//! The service: how topics are opened, created and deleted.

use super::address;
use super::encoding::MAX_MESSAGE;
use super::http::transport;
use super::poison::Poison;
use super::publisher::AzurePublisher;
use super::queue::Queue;
use super::subscription::{AzureSubscription, BATCH};
use crate::{Abilities, Ordering, Service};
use azure_core::credentials::TokenCredential;
use azure_core::http::{ClientOptions, RetryOptions, Transport, Url};
use azure_storage_queue::{QueueClient, QueueClientOptions};
use bertha_core::{Error, ErrorKind};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The longest visibility timeout: seven days.
const LONGEST_VISIBILITY: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Azure Queue Storage, for topics with a single subscription and without order.
///
/// ```
/// # fn run() -> Result<(), bertha_core::Error> {
/// use bertha_queues::azure::AzureQueue;
/// let queues = AzureQueue::new("https://shop.queue.core.windows.net?sv=2021-12-02&ss=q&srt=sco&sp=raup&se=2027-01-01&sig=...")?;
/// # Ok(())
/// # }
/// # run().unwrap();
/// ```
#[derive(Clone)]
pub struct AzureQueue {
    account: Url,
    credential: Option<Arc<dyn TokenCredential>>,
    transport: Transport,
    visibility: Duration,
    deliveries: Option<u32>,
}

impl AzureQueue {
    /// Creates the queues of an account, by the address of its queues with a shared access signature as its
    /// query.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if `account` is no address. The first use shows if the service accepts
    /// the signature.
    pub fn new(account: &str) -> Result<Self, Error> {
        Ok(Self {
            account: address::parse(account)?,
            credential: None,
            transport: transport()?,
            visibility: Duration::from_secs(30),
            deliveries: Some(10),
        })
    }

    /// Creates the queues of an account, with a credential of Entra ID, for instance of the crate
    /// `azure_identity`. Only `https` is allowed.
    ///
    /// # Errors
    /// Errors of [`new`](Self::new).
    pub fn with_credential(account: &str, credential: Arc<dyn TokenCredential>) -> Result<Self, Error> {
        let mut queues = Self::new(account)?;
        queues.credential = Some(credential);
        Ok(queues)
    }

    /// Creates the queues of the account that the environment names, by the variables of Azure's tools:
    /// `AZURE_STORAGE_CONNECTION_STRING` with a `SharedAccessSignature`; or `AZURE_STORAGE_ACCOUNT` (or
    /// `AZURE_STORAGE_QUEUE_ENDPOINT`) and `AZURE_STORAGE_SAS_TOKEN`.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if these variables are missing or form no address.
    pub fn from_env() -> Result<Self, Error> {
        Self::new(address::from_variables(|name| std::env::var(name).ok())?.as_str())
    }

    /// Sets the time after which a message that was not acknowledged is delivered again: the visibility
    /// timeout, in whole seconds, 30 by default, at most seven days. The time should be longer than the
    /// application's work on a message, and shorter than a message may wait after a crash.
    #[must_use]
    pub fn redelivery(mut self, time: Duration) -> Self {
        self.visibility = time.clamp(Duration::from_secs(1), LONGEST_VISIBILITY);
        self
    }

    /// Sets the number of deliveries after which a message is put into the queue with `-poison` at the end of
    /// its name: 10 by default. With `None` it is delivered again and again.
    #[must_use]
    pub fn dead_letters_after(mut self, deliveries: impl Into<Option<u32>>) -> Self {
        self.deliveries = deliveries.into().map(|deliveries| deliveries.max(1));
        self
    }

    fn queue(&self, name: &str) -> Result<Queue, Error> {
        let options = QueueClientOptions {
            client_options: ClientOptions {
                retry: RetryOptions::none(),
                transport: Some(self.transport.clone()),
                ..Default::default()
            },
            ..Default::default()
        };
        let client =
            QueueClient::new(address::queue(&self.account, name), self.credential.clone(), Some(options))
                .map_err(|error| {
                    Error::new(ErrorKind::Invalid, format!("no client for the queue {name}: {error}"))
                        .at("AzureQueue")
                })?;
        Ok(Queue { client: Arc::new(client), name: name.into() })
    }

    fn poison(&self, topic: &str) -> Result<Queue, Error> {
        self.queue(&format!("{topic}-poison"))
    }
}

/// Writes the value without the signature.
impl fmt::Debug for AzureQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AzureQueue")
            .field("host", &self.account.host_str())
            .field("path", &self.account.path())
            .field("visibility", &self.visibility)
            .field("deliveries", &self.deliveries)
            .finish_non_exhaustive()
    }
}

impl Service for AzureQueue {
    type Publisher = AzurePublisher;
    type Subscription = AzureSubscription;

    fn abilities(&self, _: &str) -> Abilities {
        Abilities {
            service: "Azure Queue Storage",
            ordering: Ordering::None,
            multicast: false,
            max_message: MAX_MESSAGE,
            publish_batch: 1,
            publish_bytes: MAX_MESSAGE,
            receive_batch: BATCH,
            acknowledge_batch: 1,
            retention: None,
            redelivery: self.visibility,
            dead_letters: self.deliveries.is_some(),
            one_by_one: false,
        }
    }

    async fn publisher(&self, topic: &str) -> Result<AzurePublisher, Error> {
        let queue = self.queue(topic)?;
        queue.check().await?;
        Ok(AzurePublisher { queue })
    }

    async fn subscription(&self, topic: &str, name: &str) -> Result<AzureSubscription, Error> {
        let queue = self.queue(topic)?;
        queue.claim(name).await?;
        let poison = match self.deliveries {
            Some(deliveries) => Some(Poison { deliveries, queue: self.poison(topic)? }),
            None => None,
        };
        Ok(AzureSubscription { queue, poison, visibility: self.visibility })
    }

    async fn create(&self, topic: &str) -> Result<(), Error> {
        self.queue(topic)?.create().await
    }

    async fn delete(&self, topic: &str) -> Result<(), Error> {
        self.queue(topic)?.delete().await?;
        self.poison(topic)?.delete().await
    }
}
