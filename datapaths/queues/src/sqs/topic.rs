//! SNS topics, and the queues of their subscriptions.

use super::account::Account;
use super::names::Names;
use super::queue::{self, Plan};
use bertha_core::{Error, ErrorKind};

/// Returns the resource name of the SNS topic `name`, which may itself be a resource name.
pub(crate) async fn find(account: &Account, name: &str) -> Result<Option<String>, Error> {
    if is_resource_name(name) {
        return Ok(Some(name.into()));
    }
    let mut pages = account.sns.list_topics().into_paginator().items().send();
    while let Some(topic) = pages.next().await {
        match topic {
            Ok(topic) => {
                if let Some(arn) = topic.topic_arn.filter(|arn| base_name(arn) == name) {
                    return Ok(Some(arn));
                }
            }
            Err(error) => return Err(account.failure("sns:ListTopics", error).await),
        }
    }
    Ok(None)
}

/// Returns the resource name of an SNS topic that has to exist.
pub(crate) async fn open(account: &Account, name: &str) -> Result<String, Error> {
    find(account, name).await?.ok_or_else(|| {
        Error::new(
            ErrorKind::Invalid,
            format!(
                "there is no SNS topic {name}; create it, or look at region and account of the credentials"
            ),
        )
        .at("Sqs")
    })
}

pub(crate) async fn create(account: &Account, name: &str, names: Names) -> Result<(), Error> {
    let mut call = account.sns.create_topic().name(name);
    if names.fifo {
        call = call.attributes("FifoTopic", "true");
    }
    match Box::pin(call.send()).await {
        Ok(_) => Ok(()),
        Err(error) => match find(account, name).await {
            // The topic exists with other attributes.
            Ok(Some(_)) => Ok(()),
            _ => Err(account.failure("sns:CreateTopic", error).await),
        },
    }
}

/// Returns the address of the queue of the subscription `name`. Queue and subscription are created if they
/// don't exist.
pub(crate) async fn subscribe(
    account: &Account,
    topic: &str,
    name: &str,
    plan: Plan,
) -> Result<String, Error> {
    let arn = open(account, topic).await?;
    let queue = plan.names.subscription(base_name(&arn), name);
    let url = match queue::find(account, &queue).await? {
        Some(url) => url,
        None => queue::create(account, &queue, plan).await?,
    };
    let queue_arn = queue::resource_name(account, &url).await?;
    queue::admit(account, &url, &queue_arn, &arn).await?;
    // If the subscription exists, the call returns it.
    let call = account
        .sns
        .subscribe()
        .topic_arn(arn)
        .protocol("sqs")
        .endpoint(queue_arn)
        .attributes("RawMessageDelivery", "true")
        .return_subscription_arn(true);
    match Box::pin(call.send()).await {
        Ok(_) => Ok(url),
        Err(error) => Err(account.failure("sns:Subscribe", error).await),
    }
}

/// Deletes a topic with the queues of its subscriptions.
pub(crate) async fn delete(account: &Account, name: &str, names: Names) -> Result<(), Error> {
    let Some(arn) = find(account, name).await? else { return Ok(()) };
    let prefix = names.subscription(base_name(&arn), "");
    let prefix = prefix.trim_end_matches(".fifo");
    let mut pages = account.sns.list_subscriptions_by_topic().topic_arn(&arn).into_paginator().items().send();
    while let Some(subscription) = pages.next().await {
        let subscription = match subscription {
            Ok(subscription) => subscription,
            Err(error) => return Err(account.failure("sns:ListSubscriptionsByTopic", error).await),
        };
        let endpoint = subscription.endpoint.as_deref().unwrap_or_default();
        // Queues of other programs must not be deleted.
        if subscription.protocol.as_deref() == Some("sqs") && base_name(endpoint).starts_with(prefix) {
            if let Some(arn) = subscription.subscription_arn {
                let call = account.sns.unsubscribe().subscription_arn(arn);
                if let Err(error) = Box::pin(call.send()).await {
                    return Err(account.failure("sns:Unsubscribe", error).await);
                }
            }
            queue::delete(account, base_name(endpoint), names).await?;
        }
    }
    match Box::pin(account.sns.delete_topic().topic_arn(arn).send()).await {
        Ok(_) => Ok(()),
        Err(error) => Err(account.failure("sns:DeleteTopic", error).await),
    }
}

fn is_resource_name(name: &str) -> bool {
    name.starts_with("arn:")
}

/// Returns the last part of a resource name.
fn base_name(arn: &str) -> &str {
    arn.rsplit(':').next().unwrap_or(arn)
}
