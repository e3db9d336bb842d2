//! The addresses of a cluster, and the connection to it.

use super::failure::{ANSWER_TIMEOUT, in_time};
use crate::rendezvous::store::options::{Login, StoreOptions};
use crate::rendezvous::store::url::Url;
use bertha_core::{Error, ErrorKind};
use etcd_client::{Client, ConnectOptions};
use std::fmt;
use std::time::Duration;

/// Pause between keep-alive pings on a connection in use. Servers reject more than one ping in five seconds.
const KEEP_ALIVE: Duration = Duration::from_secs(6);

/// The members of a cluster, and the proofs of identity for them.
pub(super) struct Address {
    endpoints: Vec<String>,
    is_tls: bool,
    options: StoreOptions,
}

impl Address {
    /// Returns the servers of the cluster.
    pub(super) fn endpoints(&self) -> String {
        self.endpoints.join(",")
    }

    pub(super) fn new(url: Url<'_>) -> Result<Self, Error> {
        let Url { scheme, hosts, path, options } = url;
        let is_tls = scheme == "etcds";
        let is_wrong = !is_tls && scheme != "etcd" || !path.is_empty();
        if is_wrong || hosts.is_empty() || hosts.split(',').any(|host| !host.contains(':')) {
            let what = "the address has to be etcd://host:port[,host:port...], or etcds:// for TLS";
            return Err(Error::new(ErrorKind::Invalid, what).at("EtcdStore"));
        }
        options.check(is_tls, "etcds://", "EtcdStore")?;
        let scheme = if is_tls { "https" } else { "http" };
        let endpoints = hosts.split(',').map(|host| format!("{scheme}://{host}")).collect();
        Ok(Self { endpoints, is_tls, options })
    }

    pub(super) async fn connect(&self) -> Result<Client, Error> {
        // The pings detect a firewall that has forgotten the connection and drops its packets silently.
        let mut options = ConnectOptions::new()
            .with_connect_timeout(ANSWER_TIMEOUT)
            .with_keep_alive(KEEP_ALIVE, ANSWER_TIMEOUT)
            .with_keep_alive_while_idle(false);
        if let Some(Login { user, password }) = &self.options.login {
            // The cluster forgets a login after minutes without a request.
            options = options.with_user(user, password).with_auto_token_refresh(true);
        }
        #[cfg(feature = "store-tls")]
        if self.is_tls {
            options = options.with_tls(self.tls());
        }
        // The client library logs in at once.
        in_time(Client::connect(&self.endpoints, Some(options))).await
    }

    #[cfg(feature = "store-tls")]
    fn tls(&self) -> etcd_client::TlsOptions {
        use etcd_client::{Certificate, Identity, TlsOptions};
        crate::rendezvous::store::tls::choose_cryptography();
        let options = match &self.options.authorities {
            Some(pem) => TlsOptions::new().ca_certificate(Certificate::from_pem(pem)),
            None => TlsOptions::new().with_native_roots(),
        };
        match &self.options.certificate {
            Some(own) => options.identity(Identity::from_pem(&own.chain, &own.key)),
            None => options,
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { endpoints, is_tls, options } = self;
        f.debug_struct("Address")
            .field("endpoints", endpoints)
            .field("is_tls", is_tls)
            .field("options", options)
            .finish()
    }
}
