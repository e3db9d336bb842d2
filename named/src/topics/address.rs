//! Addresses of topics.

use crate::Unknown;
use std::str::FromStr;

/// An end of a topic: the service, the topic, and the subscription of an end that receives.
///
/// The text is the address of the service, a slash, and the name of the topic: `nats://127.0.0.1:4222/orders`. The end publishes; with
/// `?subscription=NAME` it receives, and shares the messages of the subscription with its other receivers. With `?create=yes` the topic is
/// made unless it exists. Services are `memory:`, which lies in this process, and those of the build: `nats://`, `kafka://`, `redis://`,
/// `sqs://`, `pubsub://` and `azure://`; the last three take what they need from the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicAddress {
    pub(super) service: String,
    pub(super) topic: String,
    pub(super) end: End,
    pub(super) is_created: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    Publisher,
    Receiver(String),
}

impl TopicAddress {
    /// The schemes of services, of any build.
    pub const SCHEMES: &[&str] = &["azure", "kafka", "memory", "nats", "pubsub", "redis", "rediss", "sqs"];

    /// Returns true for the text of an address of a topic.
    pub fn is_one(text: &str) -> bool {
        text.split_once(':').is_some_and(|(scheme, _)| Self::SCHEMES.contains(&scheme))
    }
}

impl FromStr for TopicAddress {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Self, Unknown> {
        if !Self::is_one(text) {
            let known = Self::SCHEMES.join(", ");
            return Err(Unknown::new(format!("`{text}` is at no service; the services are {known}")));
        }
        let (place, query) = text.split_once('?').unwrap_or((text, ""));
        let cut = place.rfind('/').or_else(|| place.find(':')).unwrap_or(0) + 1;
        let (service, topic) = place.split_at(cut);
        if topic.is_empty() {
            return Err(Unknown::new(format!("`{text}` names no topic behind its service")));
        }
        let (mut end, mut is_created) = (End::Publisher, false);
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("subscription", name)) if !name.is_empty() => end = End::Receiver(name.into()),
                Some(("create", "yes")) => is_created = true,
                Some(("create", "no")) => is_created = false,
                _ => {
                    let what =
                        format!("`{parameter}` is none of subscription=NAME, create=yes and create=no");
                    return Err(Unknown::new(what));
                }
            }
        }
        let service = service.trim_end_matches('/').to_owned();
        Ok(Self { service, topic: topic.into(), end, is_created })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_service_a_topic_and_an_end() {
        let parts = |text: &str| {
            let TopicAddress { service, topic, end, is_created } = text.parse().ok()?;
            Some((service, topic, end, is_created))
        };
        let address = |service: &str, topic: &str, end, is_created| {
            Some((service.to_owned(), topic.to_owned(), end, is_created))
        };
        let billing = || End::Receiver("billing".into());
        assert_eq!(parts("memory:orders"), address("memory:", "orders", End::Publisher, false));
        assert_eq!(
            parts("nats://127.0.0.1:4222/orders?subscription=billing&create=yes"),
            address("nats://127.0.0.1:4222", "orders", billing(), true)
        );
        assert_eq!(
            parts("nats://a:1,nats://b:2/orders"),
            address("nats://a:1,nats://b:2", "orders", End::Publisher, false)
        );
        assert_eq!(parts("sqs://orders?subscription=billing"), address("sqs:", "orders", billing(), false));
        for wrong in
            ["", "orders", "smtp://a/b", "memory:", "nats://a/", "memory:a?b", "memory:a?subscription="]
        {
            assert_eq!(parts(wrong), None, "{wrong}");
        }
    }
}
