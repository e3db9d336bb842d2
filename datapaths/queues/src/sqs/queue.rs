//! Queues: how they are found, created and deleted, and which subscription may receive from them.

use super::account::Account;
use super::names::Names;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::QueueAttributeName;
use bertha_core::{Error, ErrorKind};
use std::collections::HashMap;
use std::time::Duration;

/// The longest time for which SQS keeps messages: 14 days.
pub(crate) const RETENTION: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// The tag of a queue that names its only subscription.
const TAG: &str = "bertha-subscription";

/// The settings of a new queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) names: Names,
    pub(crate) visibility: Duration,
    /// Number of deliveries after which a message is put aside.
    pub(crate) deliveries: Option<u32>,
}

/// Returns the address of the queue `name`; `None` if there is no such queue.
pub(crate) async fn find(account: &Account, name: &str) -> Result<Option<String>, Error> {
    match Box::pin(account.sqs.get_queue_url().queue_name(name).send()).await {
        Ok(answer) => Ok(answer.queue_url),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(account.failure("sqs:GetQueueUrl", error).await),
    }
}

/// Returns the address of the queue `name`, which is created if necessary, with another queue for its dead
/// letters.
pub(crate) async fn create(account: &Account, name: &str, plan: Plan) -> Result<String, Error> {
    if let Some(url) = find(account, name).await? {
        return Ok(url);
    }
    let mut attributes = attributes(plan);
    if let Some(deliveries) = plan.deliveries {
        let dead = create_one(account, &plan.names.dead_letters(name), attributes.clone()).await?;
        let arn = resource_name(account, &dead).await?;
        attributes.insert(
            QueueAttributeName::RedrivePolicy,
            format!(r#"{{"deadLetterTargetArn":"{arn}","maxReceiveCount":"{deliveries}"}}"#),
        );
    }
    create_one(account, name, attributes).await
}

fn attributes(plan: Plan) -> HashMap<QueueAttributeName, String> {
    let mut attributes = HashMap::from([
        (QueueAttributeName::VisibilityTimeout, plan.visibility.as_secs().to_string()),
        (QueueAttributeName::MessageRetentionPeriod, RETENTION.as_secs().to_string()),
    ]);
    if plan.names.fifo {
        attributes.insert(QueueAttributeName::FifoQueue, "true".into());
    }
    attributes
}

async fn create_one(
    account: &Account,
    name: &str,
    attributes: HashMap<QueueAttributeName, String>,
) -> Result<String, Error> {
    match Box::pin(account.sqs.create_queue().queue_name(name).set_attributes(Some(attributes)).send()).await
    {
        Ok(answer) => answer.queue_url.ok_or_else(|| lacks("an address of the queue", name)),
        // Another program has created the queue in the meantime, with other attributes.
        Err(error) if has_code(&error, &["QueueNameExists", "QueueAlreadyExists"]) => {
            find(account, name).await?.ok_or_else(|| no_queue(name))
        }
        Err(error) => Err(account.failure("sqs:CreateQueue", error).await),
    }
}

/// Returns the resource name of the queue at `url`.
pub(crate) async fn resource_name(account: &Account, url: &str) -> Result<String, Error> {
    let call =
        account.sqs.get_queue_attributes().queue_url(url).attribute_names(QueueAttributeName::QueueArn);
    match Box::pin(call.send()).await {
        Ok(answer) => answer
            .attributes
            .and_then(|mut all| all.remove(&QueueAttributeName::QueueArn))
            .ok_or_else(|| lacks("a resource name of the queue", url)),
        Err(error) => Err(account.failure("sqs:GetQueueAttributes", error).await),
    }
}

/// Lets the SNS topic `topic` send to the queue at `url`, whose resource name is `arn`.
pub(crate) async fn admit(account: &Account, url: &str, arn: &str, topic: &str) -> Result<(), Error> {
    let policy = format!(
        r#"{{"Version":"2012-10-17","Statement":[{{"Effect":"Allow","Principal":{{"Service":"sns.amazonaws.com"}},"Action":"sqs:SendMessage","Resource":"{arn}","Condition":{{"ArnEquals":{{"aws:SourceArn":"{topic}"}}}}}}]}}"#
    );
    let call =
        account.sqs.set_queue_attributes().queue_url(url).attributes(QueueAttributeName::Policy, policy);
    match Box::pin(call.send()).await {
        Ok(_) => Ok(()),
        Err(error) => Err(account.failure("sqs:SetQueueAttributes", error).await),
    }
}

/// Makes `name` the only subscription of a queue, unless the queue has another subscription.
pub(crate) async fn claim(account: &Account, url: &str, topic: &str, name: &str) -> Result<(), Error> {
    let tags = match Box::pin(account.sqs.list_queue_tags().queue_url(url).send()).await {
        Ok(answer) => answer.tags.unwrap_or_default(),
        Err(error) => return Err(account.failure("sqs:ListQueueTags", error).await),
    };
    match tags.get(TAG) {
        Some(owner) if owner == name => Ok(()),
        Some(owner) => Err(Error::new(
            ErrorKind::Unavailable,
            format!(
                "the queue {topic} has the subscription {owner:?}, and a queue has no second one ({name:?}); call through_sns() on the \
                 service's value, or receive as {owner:?}"
            ),
        )
        .at("Sqs")),
        None => match Box::pin(account.sqs.tag_queue().queue_url(url).tags(TAG, name).send()).await {
            Ok(_) => Ok(()),
            Err(error) => Err(account.failure("sqs:TagQueue", error).await),
        },
    }
}

/// Deletes the queue `name` and the queue for its dead letters, if they exist.
pub(crate) async fn delete(account: &Account, name: &str, names: Names) -> Result<(), Error> {
    for name in [name, &names.dead_letters(name)] {
        let Some(url) = find(account, name).await? else { continue };
        match Box::pin(account.sqs.delete_queue().queue_url(url).send()).await {
            Ok(_) => {}
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(account.failure("sqs:DeleteQueue", error).await),
        }
    }
    Ok(())
}

/// Returns true if the error means a missing queue. The code decides, since not every server sends the full
/// name of the error.
fn is_missing<E: ProvideErrorMetadata>(error: &SdkError<E>) -> bool {
    has_code(error, &["QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue"])
}

fn has_code<E: ProvideErrorMetadata>(error: &SdkError<E>, codes: &[&str]) -> bool {
    error.as_service_error().and_then(|error| error.code()).is_some_and(|code| codes.contains(&code))
}

pub(crate) fn no_queue(name: &str) -> Error {
    Error::new(
        ErrorKind::Invalid,
        format!("there is no queue {name}; create it, or look at region and account of the credentials"),
    )
    .at("Sqs")
}

/// Returns the error for an answer of the service that lacks what its definition promises.
pub(crate) fn lacks(what: &str, name: &str) -> Error {
    Error::new(ErrorKind::Malformed, format!("the service did not return {what} {name}")).at("Sqs")
}
