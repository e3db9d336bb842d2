//! Connecting to a service over any datapath.

use super::caller::Known;
use super::{AnyCaller, check};
use crate::any::host_of;
use crate::{Counted, Options, OverDatapath, Side, Stack};
use bertha::prelude::*;
use bertha::{Datapath, Destination, Error};
use std::sync::Arc;

/// Connects to a service over any datapath: the work of [`Transport::run`](crate::Transport::run) at a client.
#[derive(Debug)]
pub struct Calling {
    stack: Stack,
    to: Destination,
    /// The name of the server, for its certificate.
    host: String,
    options: Options,
}

impl Calling {
    /// Returns the work of connecting to the service at `address`, as [`Connecting`](crate::Connecting) has it, with `Rpc` on
    /// top of the stack. The stack is reliable and delivers at most once, by itself or by its datapath.
    pub fn new(stack: Stack, address: &str, options: Options) -> Self {
        Self { stack, to: Destination::from(address), host: host_of(address).to_owned(), options }
    }
}

impl OverDatapath for Calling {
    type Output = Arc<dyn AnyCaller>;

    async fn over<D: Datapath + Clone + Counted>(self, datapath: D) -> Result<Self::Output, Error> {
        let Self { stack, to, host, options } = self;
        check(&options)?;
        let below = stack.build_on(&datapath, &options.keys, Side::Client { host: &host })?;
        let stack = make_stack!(options.codec.rpc(), below);
        let connection = stack.connect(datapath, to).settings(options.settings).await?;
        Ok(Arc::new(Known::new(connection)))
    }
}
