//! Topics of messaging services by their addresses.
#![cfg(feature = "nats")]
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use bertha::ErrorKind;
use bertha_named::{Options, Stack, TopicAddress};

/// The service refuses it, as it refuses the same address from any other program, and before it looks for a server.
#[tokio::test]
async fn the_name_of_a_topic_of_nats_has_no_slash() {
    let address: TopicAddress = "nats://127.0.0.1:1/a/b".parse().unwrap();
    let error = address.open(Stack::default(), Options::default()).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("the name of a topic has no slash"), "{error}");
}
