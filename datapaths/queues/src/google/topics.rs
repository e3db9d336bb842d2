//! Topics and subscriptions: how they are found, created and deleted.

use super::client::{ANSWER_TIMEOUT, Client};
use super::names::Names;
use bertha_core::{Error, ErrorKind};
use gcloud_googleapis::pubsub::v1::{
    DeadLetterPolicy, DeleteSubscriptionRequest, DeleteTopicRequest, GetSubscriptionRequest, GetTopicRequest,
    ListTopicSubscriptionsRequest, Subscription, Topic,
};
use std::time::Duration;
use tonic::{Code, Status};

/// Name of the subscription that keeps the messages of a topic for dead letters.
const ALL: &str = "all";

/// The settings of a new subscription.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) ordered: bool,
    pub(crate) deadline: Duration,
    /// Number of deliveries after which a message is put aside.
    pub(crate) deliveries: Option<u32>,
}

impl Client {
    /// Returns an error if there is no such topic.
    pub(crate) async fn check(&self, topic: &str) -> Result<(), Error> {
        let request = GetTopicRequest { topic: topic.into() };
        let mut stub = self.publisher();
        self.expect("opening", topic, request, |it| async move { stub.get_topic(it).await }).await.map(drop)
    }

    /// Creates a topic, unless it exists.
    pub(crate) async fn create(&self, topic: &str) -> Result<(), Error> {
        let request = Topic { name: topic.into(), ..Default::default() };
        let mut stub = self.publisher();
        let call = self.call(topic, request, ANSWER_TIMEOUT, |it| async move { stub.create_topic(it).await });
        self.unless(Code::AlreadyExists, "creating", topic, call.await?)
    }

    /// Opens the subscription `name` of `topic`, which is created if necessary. Returns its full name.
    pub(crate) async fn subscribe(
        &self,
        names: &Names,
        topic: &str,
        name: &str,
        plan: Plan,
    ) -> Result<String, Error> {
        let full = names.subscription(topic, name);
        if let Some(found) = self.find(&full).await? {
            check(&found, &names.topic(topic), plan)?;
            return Ok(full);
        }
        let mut request = Subscription {
            name: full.clone(),
            topic: names.topic(topic),
            ack_deadline_seconds: plan.deadline.as_secs() as i32,
            enable_message_ordering: plan.ordered,
            ..Default::default()
        };
        if let Some(deliveries) = plan.deliveries {
            let short = names.dead_letters(topic, name);
            let dead = names.topic(&short);
            self.create(&dead).await?;
            let keeps = names.subscription(&short, ALL);
            self.create_subscription(Subscription { name: keeps, topic: dead.clone(), ..Default::default() })
                .await?;
            request.dead_letter_policy =
                Some(DeadLetterPolicy { dead_letter_topic: dead, max_delivery_attempts: deliveries as i32 });
        }
        self.create_subscription(request).await?;
        Ok(full)
    }

    async fn find(&self, subscription: &str) -> Result<Option<Subscription>, Error> {
        let request = GetSubscriptionRequest { subscription: subscription.into() };
        let mut stub = self.subscriber();
        let call = self
            .call(subscription, request, ANSWER_TIMEOUT, |it| async move { stub.get_subscription(it).await });
        match call.await? {
            Ok(found) => Ok(Some(found)),
            Err(status) if status.code() == Code::NotFound => Ok(None),
            Err(status) => Err(self.failure("opening", subscription, status)),
        }
    }

    async fn create_subscription(&self, subscription: Subscription) -> Result<(), Error> {
        let name = subscription.name.clone();
        let mut stub = self.subscriber();
        let call =
            self.call(
                &name,
                subscription,
                ANSWER_TIMEOUT,
                |it| async move { stub.create_subscription(it).await },
            );
        self.unless(Code::AlreadyExists, "creating", &name, call.await?)
    }

    /// Deletes a topic with its subscriptions and their topics for dead letters, if it exists.
    pub(crate) async fn delete(&self, names: &Names, topic: &str) -> Result<(), Error> {
        let full = names.topic(topic);
        for subscription in self.subscriptions(&full).await? {
            self.delete_subscription(&subscription).await?;
            if let Some((_, stem)) = subscription.rsplit_once('/') {
                let dead = names.topic(&format!("{stem}-dead"));
                for subscription in self.subscriptions(&dead).await? {
                    self.delete_subscription(&subscription).await?;
                }
                self.delete_topic(&dead).await?;
            }
        }
        self.delete_topic(&full).await
    }

    /// Returns the subscriptions of a topic; the list is empty if there is no such topic.
    async fn subscriptions(&self, topic: &str) -> Result<Vec<String>, Error> {
        let mut all = Vec::new();
        let mut page_token = String::new();
        loop {
            let request = ListTopicSubscriptionsRequest { topic: topic.into(), page_size: 1000, page_token };
            let mut stub = self.publisher();
            let call = self.call(topic, request, ANSWER_TIMEOUT, |it| async move {
                stub.list_topic_subscriptions(it).await
            });
            match call.await? {
                Ok(page) => {
                    all.extend(page.subscriptions);
                    page_token = page.next_page_token;
                }
                Err(status) if status.code() == Code::NotFound => return Ok(all),
                Err(status) => return Err(self.failure("deleting", topic, status)),
            }
            if page_token.is_empty() {
                return Ok(all);
            }
        }
    }

    async fn delete_subscription(&self, name: &str) -> Result<(), Error> {
        let request = DeleteSubscriptionRequest { subscription: name.into() };
        let mut stub = self.subscriber();
        let call =
            self.call(name, request, ANSWER_TIMEOUT, |it| async move { stub.delete_subscription(it).await });
        self.unless(Code::NotFound, "deleting", name, call.await?)
    }

    async fn delete_topic(&self, name: &str) -> Result<(), Error> {
        let request = DeleteTopicRequest { topic: name.into() };
        let mut stub = self.publisher();
        let call = self.call(name, request, ANSWER_TIMEOUT, |it| async move { stub.delete_topic(it).await });
        self.unless(Code::NotFound, "deleting", name, call.await?)
    }

    /// Counts it as success if the service reports that there is nothing to do.
    fn unless<A>(
        &self,
        nothing_to_do: Code,
        doing: &str,
        name: &str,
        result: Result<A, Status>,
    ) -> Result<(), Error> {
        match result {
            Err(status) if status.code() != nothing_to_do => Err(self.failure(doing, name, status)),
            _ => Ok(()),
        }
    }
}

/// Returns an error if a subscription differs from the subscription that would be created.
fn check(found: &Subscription, topic: &str, plan: Plan) -> Result<(), Error> {
    let text = if found.topic != topic {
        format!(
            "the subscription {} belongs to {}, not to {topic}; delete it, or take another name",
            found.name, found.topic
        )
    } else if plan.ordered && !found.enable_message_ordering {
        format!(
            "the subscription {} was created without order; delete it, or receive without ordered()",
            found.name
        )
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::Invalid, text).at("PubSub"))
}
