//! Connecting by names alone.

#[cfg(feature = "queue")]
use crate::TopicAddress;
use crate::{AnyConnection, Connecting, Options, Stack, Transport, Unknown};
use bertha::Error;
use bertha::core::BoxFuture;
use std::sync::Arc;

/// Work that ends in a connection.
pub type ToConnect = BoxFuture<'static, Result<Arc<dyn AnyConnection>, Error>>;

/// Returns the work of connecting by names: over a [datapath](Transport) to a server, or with the datapath `topic` to a topic, whose
/// address is a `TopicAddress`.
///
/// # Errors
/// [`Unknown`] for a name that there is not. The errors of the work are those of [`Connecting`], and of the
/// service.
pub fn connect(datapath: &str, address: &str, stack: &str, options: Options) -> Result<ToConnect, Unknown> {
    let stack = stack.parse::<Stack>()?;
    #[cfg(feature = "queue")]
    if datapath == Transport::TOPIC {
        let topic = address.parse::<TopicAddress>()?;
        return Ok(Box::pin(topic.open(stack, options)));
    }
    let datapath = datapath.parse::<Transport>()?;
    Ok(Box::pin(datapath.run(Connecting::new(stack, address, options))))
}
