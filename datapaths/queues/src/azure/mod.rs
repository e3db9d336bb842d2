//! Topics in Azure Queue Storage as the bottom of a stack.
//!
//! | order | subscriptions | longest message | messages in a call | retention | redelivery | dead letters |
//! |---|---|---|---|---|---|---|
//! | none | one | 48 KiB | 1 sent, 32 received, 1 acknowledged | until acknowledged | after the visibility timeout | by this crate |
//!
//! The topic `orders` is the queue `orders`. Two subscriptions can't receive from it, since the service has
//! no multicast.
//!
//! # Encoding
//! Messages are XML text of at most 64 KiB, so they travel as base64, as in Azure's own tools. The encoding
//! takes a quarter of the limit.
//!
//! # Messages that fail again and again
//! The service has no dead-letter queue. It counts deliveries, and the receiver that gets a message for the
//! 11th time ([`AzureQueue::dead_letters_after`]) puts it into the queue `orders-poison`, as Azure Functions
//! do, and deletes it, in two calls.
//!
//! # Waiting
//! The service has no call that waits for messages. The queue connection pauses between its calls while a queue is empty.
//!
//! # Endpoint and credentials
//! The endpoint is the account's, `https://ACCOUNT.queue.core.windows.net`. Credentials are a shared access
//! signature (SAS) in this address, or a credential of Entra ID, such as a credential of the crate
//! `azure_identity`. [`AzureQueue::from_env`] reads the variables of Azure's tools. The SDK for Rust does not
//! sign with account keys: make a signature with a key, by
//! `az storage account generate-sas --services q --resource-types sco --permissions rwdlacup`. TLS is rustls
//! with ring.
//!
//! # Failures
//! Retries inside the SDK are switched off: the queue connection retries, and counts each call. A message
//! that its receiver holds longer than the visibility timeout ([`AzureQueue::redelivery`]) is delivered
//! again; nothing extends the timeout.

mod address;
mod encoding;
mod failure;
mod http;
mod poison;
mod publisher;
mod queue;
mod service;
mod subscription;

pub use azure_core::credentials::TokenCredential;
pub use publisher::AzurePublisher;
pub use service::AzureQueue;
pub use subscription::{AzureReceipt, AzureSubscription};
