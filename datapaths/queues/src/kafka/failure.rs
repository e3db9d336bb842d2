//! Errors of Kafka, as errors of a queue.

use bertha_core::{Error, ErrorKind};
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use std::borrow::Cow;

pub(crate) fn failure(error: KafkaError) -> Error {
    if let KafkaError::ClientConfig(..) | KafkaError::ClientCreation(_) = &error {
        let text = error.to_string();
        let advice = match text.contains("OpenSSL") || text.contains("SCRAM") {
            true => "; TLS and SCRAM need the feature `kafka-tls`",
            false => "",
        };
        return invalid(format!("the settings can't be used{advice} ({text})")).because(error);
    }
    let text = error.to_string();
    of_code(error.rdkafka_error_code(), &text).because(error)
}

/// Returns the error for a code, with the client library's text for it.
pub(crate) fn of_code(code: Option<Code>, text: &str) -> Error {
    let (kind, what) = match code {
        Some(
            Code::Authentication
            | Code::SaslAuthenticationFailed
            | Code::SSL
            | Code::UnsupportedSASLMechanism,
        ) => {
            return unauthenticated(text);
        }
        Some(
            Code::TopicAuthorizationFailed
            | Code::GroupAuthorizationFailed
            | Code::ClusterAuthorizationFailed
            | Code::TransactionalIdAuthorizationFailed,
        ) => (
            ErrorKind::Unauthenticated,
            "the user may not do this; give it the right to the topic, and to the group `SUBSCRIPTION.TOPIC` (kafka-acls)",
        ),
        Some(Code::UnknownTopicOrPartition | Code::UnknownTopic | Code::UnknownPartition) => {
            (ErrorKind::Invalid, "there is no such topic; create it")
        }
        Some(Code::InvalidTopic) => {
            (ErrorKind::Invalid, "a topic has to be called by letters, digits, `.`, `_` and `-`, at most 249")
        }
        Some(Code::MessageSizeTooLarge | Code::InvalidMessageSize | Code::MessageBatchTooLarge) => (
            ErrorKind::TooLarge,
            "the message exceeds what the client or the topic allows (`message.max.bytes`)",
        ),
        Some(Code::InvalidRecord) => (
            ErrorKind::Invalid,
            "the broker refuses the message; a compacted topic (`cleanup.policy=compact`) takes only messages with a key",
        ),
        Some(Code::QueueFull | Code::ThrottlingQuotaExceeded) => {
            (ErrorKind::Exhausted, "too many messages are on their way")
        }
        Some(code) if is_passing(code) => (
            ErrorKind::Unreachable,
            "the broker does not answer, or can't do this at the moment; is it running?",
        ),
        _ => (ErrorKind::Io, "the client has failed"),
    };
    Error::new(kind, format!("{what} ({text})")).at("Kafka")
}

/// Returns the error of a client that publishes no more, even if the cause is removed.
pub(crate) fn ended(code: Code, text: &str) -> Error {
    of_code(Some(code), &format!("{text}; connect again afterwards, since this client publishes no more"))
}

fn is_passing(code: Code) -> bool {
    matches!(
        code,
        Code::BrokerTransportFailure
            | Code::AllBrokersDown
            | Code::Resolve
            | Code::MessageTimedOut
            | Code::OperationTimedOut
            | Code::RequestTimedOut
            | Code::TimedOutQueue
            | Code::WaitingForCoordinator
            | Code::PurgeQueue
            | Code::PurgeInflight
            | Code::LeaderNotAvailable
            | Code::NotLeaderForPartition
            | Code::BrokerNotAvailable
            | Code::ReplicaNotAvailable
            | Code::NetworkException
            | Code::CoordinatorLoadInProgress
            | Code::CoordinatorNotAvailable
            | Code::NotCoordinator
            | Code::NotEnoughReplicas
            | Code::NotEnoughReplicasAfterAppend
            | Code::NotController
            | Code::KafkaStorageError
            | Code::UnknownLeaderEpoch
            | Code::FencedLeaderEpoch
    )
}

/// Returns true if a commit came too late: its partitions belong to another receiver.
pub(crate) fn is_of_lost_partition(error: &KafkaError) -> bool {
    let lost = [
        Code::IllegalGeneration,
        Code::UnknownMemberId,
        Code::RebalanceInProgress,
        Code::FencedInstanceId,
        Code::AssignmentLost,
        Code::NoOffset,
    ];
    error.rdkafka_error_code().is_some_and(|code| lost.contains(&code))
}

pub(crate) fn unauthenticated(text: &str) -> Error {
    let what = "the broker does not accept this client; set security.protocol, sasl.mechanism, sasl.username and sasl.password, and for TLS ssl.ca.location, by `Kafka::with_config`";
    Error::new(ErrorKind::Unauthenticated, format!("{what} ({text})")).at("Kafka")
}

pub(crate) fn unreachable(text: &str) -> Error {
    Error::new(ErrorKind::Unreachable, format!("the broker does not answer; is it running? ({text})"))
        .at("Kafka")
}

pub(crate) fn invalid(what: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::Invalid, what).at("Kafka")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rdkafka::types::RDKafkaConfRes;

    fn of_setting(key: &str, value: &str, reason: &str) -> KafkaError {
        let [key, value, reason] = [key, value, reason].map(str::to_owned);
        KafkaError::ClientConfig(RDKafkaConfRes::RD_KAFKA_CONF_INVALID, reason, key, value)
    }

    /// The client library's text names the cause if it was built without OpenSSL.
    #[test]
    fn what_needs_the_feature_for_tls_names_it() {
        let tls = of_setting("security.protocol", "SASL_SSL", "OpenSSL not available at build time");
        let scram = "No provider for SASL mechanism SCRAM-SHA-256: recompile librdkafka with libsasl2 or openssl support.";
        for error in [tls, KafkaError::ClientCreation(scram.to_owned())] {
            let error = failure(error);
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains("need the feature `kafka-tls`"), "{error}");
        }
    }

    #[test]
    fn a_refused_message_is_told_of_the_key_that_a_compacted_topic_needs() {
        let error = of_code(Some(Code::InvalidRecord), "Broker: Broker failed to validate record");
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("with a key"), "{error}");
    }

    #[test]
    fn other_settings_do_not_name_it() {
        let error = failure(of_setting("acks", "some", "Invalid value"));
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(!error.to_string().contains("feature"), "{error}");
    }
}
