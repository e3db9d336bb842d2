//! The service: how topics are opened, created and deleted.

use super::client::Server;
use super::extender::Extender;
use super::names::Names;
use super::publisher::PubSubPublisher;
use super::subscription::{BATCH, PubSubSubscription};
use super::topics::Plan;
use crate::{Abilities, Ordering, Service, cryptography};
use bertha_core::{Error, ErrorKind};
use google_cloud_auth::credentials::{Builder, Credentials};
use std::time::Duration;

/// Address of the service.
const ADDRESS: &str = "https://pubsub.googleapis.com";

/// Largest number of bytes in a publishing call.
const LIMIT: usize = 10_000_000;

/// Largest number of bytes around a message in a call: key, attribute and lengths.
const OVERHEAD: usize = 64;

/// The time for which the service keeps messages.
const RETENTION: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Google Cloud Pub/Sub, for topics with any number of subscriptions.
///
/// ```no_run
/// # fn run() -> Result<(), bertha_core::Error> {
/// # use bertha_queues::google::PubSub;
/// let unordered = PubSub::connect("shop")?;
/// let ordered_by_key = PubSub::connect("shop")?.ordered();
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct PubSub {
    server: Server,
    names: Names,
    plan: Plan,
    longest: Duration,
}

impl PubSub {
    /// Creates the topics of a project, with the application's default credentials; or with the emulator that
    /// `PUBSUB_EMULATOR_HOST` names, without credentials.
    ///
    /// The call installs ring as the process's implementation of cryptography for rustls, unless there is
    /// one, because Google's library takes it from there.
    ///
    /// # Errors
    /// [`Unauthenticated`](ErrorKind::Unauthenticated) if there are no credentials. The first use shows if
    /// the service accepts the credentials.
    pub fn connect(project: &str) -> Result<Self, Error> {
        match std::env::var("PUBSUB_EMULATOR_HOST") {
            Ok(host) if !host.is_empty() => Self::emulator(&host, project),
            _ => Self::with_credentials(ADDRESS, project, default_credentials()?),
        }
    }

    /// Creates the topics of the project that `GOOGLE_CLOUD_PROJECT` names, as [`connect`](Self::connect)
    /// does.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if the variable names no project; and errors of
    /// [`connect`](Self::connect).
    pub fn from_env() -> Result<Self, Error> {
        match std::env::var("GOOGLE_CLOUD_PROJECT") {
            Ok(project) if !project.is_empty() => Self::connect(&project),
            _ => {
                Err(Error::new(ErrorKind::Invalid, "no project is named; set GOOGLE_CLOUD_PROJECT")
                    .at("PubSub"))
            }
        }
    }

    /// Creates the topics of a project in the emulator at `host`, such as `127.0.0.1:8085`: without TLS and
    /// credentials.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if `host` is no address. The first use shows if a server listens
    /// there.
    pub fn emulator(host: &str, project: &str) -> Result<Self, Error> {
        Self::new(Server::new(&format!("http://{host}"), None)?, project)
    }

    /// Creates the topics of a project at `address`, such as `https://europe-west1-pubsub.googleapis.com`,
    /// with other credentials.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if `address` is no address.
    pub fn with_credentials(address: &str, project: &str, credentials: Credentials) -> Result<Self, Error> {
        Self::new(Server::new(address, Some(credentials))?, project)
    }

    fn new(server: Server, project: &str) -> Result<Self, Error> {
        let plan = Plan { ordered: false, deadline: Duration::from_secs(30), deliveries: Some(10) };
        Ok(Self {
            server,
            names: Names { project: project.into() },
            plan,
            longest: Duration::from_secs(60 * 60),
        })
    }

    /// Keeps order by key. The setting applies to subscriptions that are created later; a subscription that
    /// was created without it is refused.
    #[must_use]
    pub fn ordered(mut self) -> Self {
        self.plan.ordered = true;
        self
    }

    /// Sets the acknowledgement deadline: the time after which a message that was not acknowledged is
    /// delivered again, once its receiver has died. It counts whole seconds, 30 by default; the service
    /// accepts 10 to 600. The setting applies to subscriptions that are created later.
    #[must_use]
    pub fn redelivery(mut self, deadline: Duration) -> Self {
        self.plan.deadline = deadline.max(Duration::from_secs(1));
        self
    }

    /// Sets the time for which deadlines of messages that the application holds are extended: an hour by
    /// default. Zero turns extensions off.
    #[must_use]
    pub fn hold_for(mut self, longest: Duration) -> Self {
        self.longest = longest;
        self
    }

    /// Sets the number of deliveries after which a message goes to the topic for dead letters: 10 by default.
    /// The service accepts 5 to 100, so a number outside of this range becomes the nearest number inside. With
    /// `None` the message is delivered again and again. The setting applies to subscriptions that are created
    /// later.
    #[must_use]
    pub fn dead_letters_after(mut self, deliveries: impl Into<Option<u32>>) -> Self {
        self.plan.deliveries = deliveries.into().map(|deliveries| deliveries.clamp(5, 100));
        self
    }
}

/// Returns the credentials that Google's clients find in the environment.
fn default_credentials() -> Result<Credentials, Error> {
    cryptography::install();
    Builder::default().build().map_err(|error| {
        let text = format!(
            "there are no application default credentials: {error}; set GOOGLE_APPLICATION_CREDENTIALS, or run `gcloud auth \
             application-default login`"
        );
        Error::new(ErrorKind::Unauthenticated, text).because(error).at("PubSub")
    })
}

impl Service for PubSub {
    type Publisher = PubSubPublisher;
    type Subscription = PubSubSubscription;

    fn abilities(&self, _: &str) -> Abilities {
        let limit = LIMIT - BATCH * OVERHEAD;
        Abilities {
            service: "Google Pub/Sub",
            ordering: if self.plan.ordered { Ordering::ByKey } else { Ordering::None },
            multicast: true,
            max_message: limit,
            publish_batch: BATCH,
            publish_bytes: limit,
            receive_batch: BATCH,
            acknowledge_batch: BATCH,
            retention: Some(RETENTION),
            redelivery: self.plan.deadline,
            dead_letters: self.plan.deliveries.is_some(),
            one_by_one: self.plan.ordered,
        }
    }

    async fn publisher(&self, topic: &str) -> Result<PubSubPublisher, Error> {
        let client = self.server.client();
        let topic = self.names.topic(topic);
        client.check(&topic).await?;
        Ok(PubSubPublisher { client, topic, ordered: self.plan.ordered })
    }

    async fn subscription(&self, topic: &str, name: &str) -> Result<PubSubSubscription, Error> {
        let client = self.server.client();
        let name = client.subscribe(&self.names, topic, name, self.plan).await?;
        let extender = Extender::new(client.clone(), name.clone(), self.plan.deadline, self.longest);
        Ok(PubSubSubscription { client, name, extender })
    }

    async fn create(&self, topic: &str) -> Result<(), Error> {
        self.server.client().create(&self.names.topic(topic)).await
    }

    async fn delete(&self, topic: &str) -> Result<(), Error> {
        self.server.client().delete(&self.names, topic).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn dead_letters_come_after_a_number_that_the_service_accepts() {
        for (asked, expected) in [(0, 5), (5, 5), (100, 100), (u32::MAX, 100)] {
            let service = PubSub::emulator("127.0.0.1:1", "project").unwrap().dead_letters_after(asked);
            assert_eq!(service.plan.deliveries, Some(expected));
        }
    }
}
