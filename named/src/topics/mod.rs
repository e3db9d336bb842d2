//! Topics of messaging services, by name: a publisher sends what it publishes, and a receiver gets what its subscription gets.

mod address;
mod service;
mod wrapped;

pub use address::TopicAddress;

use crate::any::Known;
use crate::{AnyConnection, Layer, Options, Side, Stack};
use address::End;
use bertha::prelude::*;
use bertha::queue::{Service, Topic};
use bertha::{Error, ErrorKind};
use std::sync::Arc;
use wrapped::{Chosen, Shared};

impl TopicAddress {
    /// Opens an end of the topic, with a stack on it. Ends of a topic agree on nothing: their stacks are the same, or carry the same
    /// bytes. Of alternatives, each end takes the preferred one.
    ///
    /// A received message is delivered again, to any receiver of its subscription, unless [`Buf::done`](bertha::Buf::done) is called.
    ///
    /// # Errors
    /// Errors of the service; [`Invalid`](ErrorKind::Invalid) for a stack that does not fit a topic.
    pub async fn open(self, stack: Stack, options: Options) -> Result<Arc<dyn AnyConnection>, Error> {
        if let Some(name) = stack.find(&|layer| layer.for_two().is_some()).and_then(Layer::for_two) {
            let what =
                format!("`{name}` is for two ends that answer each other, and no two ends of a topic do");
            return Err(Error::new(ErrorKind::Invalid, what));
        }
        let Self { service, topic, end, is_created } = self;
        service::run(&service, Opening { topic, end, is_created, stack, options }).await
    }
}

/// Opens an end of a topic of any service.
struct Opening {
    topic: String,
    end: End,
    is_created: bool,
    stack: Stack,
    options: Options,
}

impl service::OnService for Opening {
    type Output = Arc<dyn AnyConnection>;

    async fn on(self, service: impl Service) -> Result<Self::Output, Error> {
        let topic = Topic::new(service, self.topic);
        if self.is_created {
            topic.create().await?;
        }
        let base = match self.end {
            End::Publisher => topic.publisher().await?,
            End::Receiver(subscription) => topic.receiver(&subscription).await?,
        };
        let base = Shared::new(base);
        let stack = self.stack.build(&self.options.keys, Side::Client { host: "localhost" })?;
        let layers = wrapped::preferred(&stack);
        let connection = stack.wrap(base.clone()).await?;
        Ok(Arc::new(Known::new(connection, Chosen { layers, end: base })))
    }
}
