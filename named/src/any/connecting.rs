//! Connecting over any datapath.

use super::AnyConnection;
use super::negotiated::{changing, fixed};
use crate::{Counted, Options, OverDatapath, Side, Stack};
use bertha::prelude::*;
use bertha::{Datapath, Destination, Error};
use std::sync::Arc;

/// Connects over any datapath: the work of [`Transport::run`](crate::Transport::run) at a client.
#[derive(Debug)]
pub struct Connecting {
    stack: Stack,
    to: Destination,
    /// The name of the server, for its certificate.
    host: String,
    options: Options,
}

impl Connecting {
    /// Returns the work of connecting to the server at `address`: `IP:PORT`, `HOST:PORT`, or `unix:PATH`.
    ///
    /// The host in the address is the one that the server's certificate is for, unless the option `tls-name` gives another.
    pub fn new(stack: Stack, address: &str, options: Options) -> Self {
        Self { stack, to: Destination::from(address), host: host_of(address).to_owned(), options }
    }
}

impl OverDatapath for Connecting {
    type Output = Arc<dyn AnyConnection>;

    async fn over<D: Datapath + Clone + Counted>(self, datapath: D) -> Result<Self::Output, Error> {
        let Self { stack, to, host, options } = self;
        let stack = stack.build_on(&datapath, &options.keys, Side::Client { host: &host })?;
        if options.is_upgradable {
            let stack = stack.upgradable();
            let connection = stack.connect(datapath, to).settings(options.settings).await?;
            return Ok(changing(connection, |connection, to| async move {
                connection.upgrade(to).await.map(drop)
            }));
        }
        Ok(fixed(stack.connect(datapath, to).settings(options.settings).await?))
    }
}

/// Returns the name of the host in an address, for certificates.
pub(crate) fn host_of(address: &str) -> &str {
    if address.starts_with("unix:") {
        return "localhost";
    }
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.trim_start_matches('[').trim_end_matches(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_of_the_host_without_its_port() {
        for (address, host) in
            [("example.org:80", "example.org"), ("[::1]:80", "::1"), ("unix:/a", "localhost"), ("a", "a")]
        {
            assert_eq!(host_of(address), host);
        }
    }
}
