//! Topics of messaging services as the bottom of a stack.
//!
//! A service is one line, and the rest of a program does not depend on the choice:
//!
//! ```
//! use bertha::chunnels::Serialize;
//! use bertha::prelude::*;
//! use bertha::queue::{MemoryQueue, Topic};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), bertha::Error> {
//! let orders = Topic::new(MemoryQueue::new(), "orders");
//! // let orders = Topic::new(Nats::connect("nats://127.0.0.1:4222").await?, "orders");
//! orders.create().await?;
//! let stack = || make_stack!(Serialize::<String>::new().with_receipts());
//! // Receivers of one subscription share its messages; each subscription gets all messages.
//! let billing = stack().wrap(orders.receiver("billing").await?).await?;
//! let shop = stack().wrap(orders.publisher().await?).await?;
//! shop.send("a book".to_owned().into()).await?;
//! let order = billing.recv().await?;
//! assert_eq!(*order, "a book");
//! // A message is acknowledged after the work; a message that is dropped is delivered again.
//! order.done();
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "azure-queue")]
#[doc(inline)]
pub use bertha_queues::azure::AzureQueue;
#[cfg(feature = "google-pubsub")]
#[doc(inline)]
pub use bertha_queues::google::PubSub;
#[cfg(feature = "kafka")]
#[doc(inline)]
pub use bertha_queues::kafka::Kafka;
#[cfg(feature = "nats")]
#[doc(inline)]
pub use bertha_queues::nats::Nats;
#[cfg(feature = "redis-streams")]
#[doc(inline)]
pub use bertha_queues::redis::RedisStreams;
#[cfg(feature = "sqs")]
#[doc(inline)]
pub use bertha_queues::sqs::Sqs;
#[doc(inline)]
pub use bertha_queues::*;
