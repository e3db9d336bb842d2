//! Queues: how they are created and deleted, and which subscription may receive from them.

use super::failure::{answer, failure};
use azure_storage_queue::QueueClient;
use azure_storage_queue::models::{QueueClientGetPropertiesResultHeaders, QueueClientSetMetadataOptions};
use bertha_core::{Error, ErrorKind};

/// The entry in a queue's metadata that names its only subscription.
const OWNER: &str = "bertha_subscription";

/// A queue and its name.
#[derive(Clone)]
pub(crate) struct Queue {
    pub(crate) client: std::sync::Arc<QueueClient>,
    pub(crate) name: String,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The client is left out: its address contains the signature.
        f.debug_tuple("Queue").field(&self.name).finish()
    }
}

impl Queue {
    /// Creates the queue, unless it exists.
    pub(crate) async fn create(&self) -> Result<(), Error> {
        match self.client.create(None).await {
            Ok(_) => Ok(()),
            // The existing queue has metadata, and so differs a little.
            Err(error) if answer(&error) == Some((409, "QueueAlreadyExists")) => Ok(()),
            Err(error) => Err(self.failure("creating", error)),
        }
    }

    pub(crate) async fn delete(&self) -> Result<(), Error> {
        match self.client.delete(None).await {
            Ok(_) => Ok(()),
            Err(error) if answer(&error).is_some_and(|(status, _)| status == 404) => Ok(()),
            Err(error) => Err(self.failure("deleting", error)),
        }
    }

    /// Returns an error if there is no such queue.
    pub(crate) async fn check(&self) -> Result<(), Error> {
        self.client.get_properties(None).await.map(drop).map_err(|error| self.failure("opening", error))
    }

    /// Makes `name` the only subscription of the queue, unless the queue has another subscription.
    pub(crate) async fn claim(&self, name: &str) -> Result<(), Error> {
        let properties =
            self.client.get_properties(None).await.map_err(|error| self.failure("opening", error))?;
        let mut metadata = properties.metadata().map_err(|error| self.failure("opening", error))?;
        match metadata.get(OWNER).map(String::as_str) {
            Some(owner) if owner == name => Ok(()),
            Some(owner) => Err(Error::new(
                ErrorKind::Unavailable,
                format!(
                    "the queue {} has the subscription {owner:?}, and Azure Queue Storage has no second one ({name:?}): receive as {owner:?}, \
                     or take a service that has multicast",
                    self.name
                ),
            )
            .at("AzureQueue")),
            None => {
                metadata.insert(OWNER.into(), name.into());
                let options = QueueClientSetMetadataOptions::default();
                self.client
                    .set_metadata(&metadata, Some(options))
                    .await
                    .map(drop)
                    .map_err(|error| self.failure("claiming", error))
            }
        }
    }

    pub(crate) fn failure(&self, doing: &str, error: azure_core::Error) -> Error {
        failure(&format!("{doing} the queue {}", self.name), error)
    }
}
