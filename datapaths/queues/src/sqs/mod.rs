//! Topics in Amazon SQS, or in Amazon SNS with a queue for each subscription, as the bottom of a stack.
//!
//! | | SQS, standard | SQS, FIFO | SNS and SQS |
//! |---|---|---|---|
//! | order | none | by key | as its queues |
//! | subscriptions | one | one | any number |
//! | longest message | 1 MiB | 1 MiB | 256 KiB |
//! | messages in a call | 10 | 10 | 10 |
//! | retention | 14 days | 14 days | 14 days |
//! | redelivery | after the visibility timeout | the same | the same |
//! | dead letters | a queue of their own | the same | one for each subscription |
//!
//! A value of [`Sqs`] is configured for one of these columns. The encoding takes 210 bytes of the longest
//! message.
//!
//! # Names
//! The topic `orders` is the queue `orders`, or `orders.fifo`. Through SNS it is the SNS topic of this name,
//! and its subscription `billing` is the queue `orders-billing`, or `orders-billing.fifo`, which gets
//! messages as they were published (raw delivery). Messages that were delivered too often go to the queue
//! with this name and `-dead` at its end.
//!
//! # Encoding
//! Bodies of messages are text. A message that is such text already, as JSON is, is the body as it stands, so
//! that any other program can read and write it. Any other message travels in the binary attribute
//! `bertha.payload`, because base64 in a body would take a quarter of the limit and of what SQS bills in
//! units of 64 KiB, and an attribute counts as it is. A body without this attribute is a message.
//!
//! # Credentials, region and endpoint
//! The default chain of the AWS SDKs applies: the environment (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`,
//! `AWS_SESSION_TOKEN`, `AWS_REGION`, `AWS_ENDPOINT_URL`, `AWS_ENDPOINT_URL_SQS`, `AWS_ENDPOINT_URL_SNS`),
//! the profile (`AWS_PROFILE`, `~/.aws`), web identity, or the role of the machine; profiles with single
//! sign-on need the feature `sqs-sso`. [`Sqs::with_config`] takes any other configuration. TLS is rustls with
//! ring.
//!
//! A publisher needs `sqs:SendMessage` and `sqs:GetQueueUrl`, or `sns:Publish` and `sns:ListTopics`. A receiver needs `sqs:ReceiveMessage`, `sqs:DeleteMessage`,
//! `sqs:ChangeMessageVisibility`, `sqs:GetQueueUrl`, `sqs:ListQueueTags` and `sqs:TagQueue`; through SNS `sns:ListTopics`, `sns:Subscribe`, and for a new subscription
//! `sqs:CreateQueue`, `sqs:GetQueueAttributes` and `sqs:SetQueueAttributes`.
//!
//! # Failures
//! Retries inside the SDK are switched off: the queue connection retries, and counts each call. A message
//! that its receiver holds longer than the visibility timeout ([`Sqs::redelivery`]) is delivered again;
//! nothing extends the timeout. In a FIFO queue the messages of a key wait while a message of this key is
//! held.

mod account;
mod encoding;
mod failure;
mod names;
mod publisher;
mod queue;
mod service;
mod subscription;
mod topic;

pub use aws_config::SdkConfig;
pub use publisher::SqsPublisher;
pub use service::Sqs;
pub use subscription::{SqsReceipt, SqsSubscription};
