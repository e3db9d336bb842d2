//! Topics in Google Cloud Pub/Sub as the bottom of a stack.
//!
//! | order | subscriptions | longest message | messages in a call | retention | redelivery | dead letters |
//! |---|---|---|---|---|---|---|
//! | none, or by key | any number | 10 MB | 1000 | 7 days | after the acknowledgement deadline | a topic for each subscription |
//!
//! A value of [`PubSub`] is configured for order by key ([`PubSub::ordered`]) or without order. 64 kB of the
//! longest message are reserved for what surrounds it.
//!
//! # Names
//! The topic `orders` is the topic `orders` of the project. Its subscription `billing` is the subscription
//! `orders-billing`, because subscriptions belong to a project, not to a topic. Messages that were delivered
//! too often go to the topic `orders-billing-dead`, whose subscription `all` keeps them. For this, the
//! service's own account needs the right to publish there and to acknowledge here, as Google's documentation
//! of dead-letter topics says.
//!
//! # Calls
//! Publishing, receiving, acknowledging and giving back are a single call each (`Publish`, `Pull`,
//! `Acknowledge`, `ModifyAckDeadline`), whose success is known when it returns. Google's client library
//! offers streams and batches in the background instead. These report neither the number of calls nor the
//! arrival of an acknowledgement, and take messages from other receivers before the application asks for
//! them. So the calls here are made by the stubs that are generated from Google's definitions
//! (`gcloud-googleapis`), with the credentials of Google's own library.
//!
//! A `Pull` waits for messages as long as the service decides, which may be longer than the requested time.
//!
//! # Long work
//! A message that is held longer than the acknowledgement deadline would be delivered again. So its deadline
//! is extended while it is held: by a single call for all held messages, in each third of the deadline, for
//! at most an hour ([`PubSub::hold_for`]). When the process dies, the messages that it held are delivered
//! again after at most one deadline ([`PubSub::redelivery`]).
//!
//! # Endpoint, project and credentials
//! The rules of Google's clients apply: credentials are the application's default credentials
//! (`GOOGLE_APPLICATION_CREDENTIALS`, the credentials of `gcloud auth application-default login`, or the
//! machine's), the project is `GOOGLE_CLOUD_PROJECT`, and with `PUBSUB_EMULATOR_HOST` there is neither TLS
//! nor a credential. [`PubSub::with_credentials`] takes any other credentials. TLS is rustls with ring.
//!
//! Publishing needs the role `roles/pubsub.publisher` and the permission `pubsub.topics.get`; receiving `roles/pubsub.subscriber` and `pubsub.subscriptions.get`;
//! creating `roles/pubsub.editor`.

mod client;
mod extender;
mod failure;
mod leases;
mod names;
mod publisher;
mod service;
mod subscription;
mod topics;

pub use google_cloud_auth::credentials::Credentials;
pub use publisher::PubSubPublisher;
pub use service::PubSub;
pub use subscription::{PubSubReceipt, PubSubSubscription};
