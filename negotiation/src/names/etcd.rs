//! Names in etcd.

use bertha_core::{Addr, BoxFuture, Error, ErrorKind, MAX_ADDRESSES, Name, Resolver};
use etcd_client::{Client, ConnectOptions, GetOptions, KeyValue};
use std::time::Duration;
use tokio::sync::OnceCell;

/// The time limit of each answer of the cluster.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// Services whose instances write their addresses into etcd, version 3.4 or later. It runs on tokio alone.
///
/// The addresses of `store` are the values of all keys that begin with the prefix and `store/`, in the order of the keys:
///
/// ```text
/// etcdctl put --lease=$LEASE /services/store/a 10.0.0.1:4242
/// etcdctl put --lease=$LEASE /services/store/b 10.0.0.2:4242
/// ```
///
/// An instance keeps its lease alive, so that a crashed instance disappears with its lease. A value that is
/// no address is skipped, and logged. Nothing is cached: each connection asks the cluster once, which has two
/// seconds to answer.
///
/// # Errors
/// [`Invalid`](ErrorKind::Invalid) for a name with a port, since instances have ports of their own;
/// [`Unreachable`](ErrorKind::Unreachable) if the cluster does not answer, refuses, or has no address of the
/// service.
pub struct Etcd {
    endpoints: Vec<String>,
    prefix: String,
    client: OnceCell<Client>,
}

impl Etcd {
    /// Makes a resolver with the cluster at `url`, `etcd://host:port[,host:port...]`, and the keys below
    /// `prefix`, such as `/services/`. It connects when it is used.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if `url` is no such address.
    pub fn new(url: &str, prefix: impl Into<String>) -> Result<Self, Error> {
        let hosts = url.strip_prefix("etcd://").map(|hosts| hosts.trim_end_matches('/')).unwrap_or_default();
        let is_host = |host: &str| host.contains(':') && !host.contains(['/', '@', '?']);
        if !hosts.split(',').all(is_host) {
            let what = "the address has to be etcd://host:port[,host:port...]; for TLS or a login make the client yourself";
            return Err(Error::new(ErrorKind::Invalid, what).at("Etcd"));
        }
        let endpoints = hosts.split(',').map(|host| format!("http://{host}")).collect();
        Ok(Self { endpoints, prefix: prefix.into(), client: OnceCell::new() })
    }

    /// Makes a resolver with the cluster of `client`, which may use TLS and a login, and the keys below
    /// `prefix`. The right to read them is enough.
    pub fn over(client: Client, prefix: impl Into<String>) -> Self {
        Self { endpoints: Vec::new(), prefix: prefix.into(), client: OnceCell::new_with(Some(client)) }
    }

    async fn client(&self) -> Result<Client, etcd_client::Error> {
        let options = || ConnectOptions::new().with_connect_timeout(ANSWER_TIMEOUT);
        let connect = || Client::connect(&self.endpoints, Some(options()));
        Ok(self.client.get_or_try_init(connect).await?.clone())
    }

    async fn instances(&self, name: &Name) -> Result<Vec<Addr>, Error> {
        if name.port().is_some() {
            let what = format!(
                "`{name}` has a port; a service in etcd is a name alone, since instances bring their ports"
            );
            return Err(Error::new(ErrorKind::Invalid, what).at("Etcd"));
        }
        let prefix = format!("{}{}/", self.prefix, name.host());
        let get = async {
            let options = GetOptions::new().with_prefix().with_limit(MAX_ADDRESSES as i64);
            self.client().await?.get(prefix.as_str(), Some(options)).await
        };
        // The future is boxed, since the client library's futures are large.
        let Ok(got) = tokio::time::timeout(ANSWER_TIMEOUT, Box::pin(get)).await else {
            return Err(unreachable(format!("the cluster did not answer for `{name}`; is it running?")));
        };
        let got = got.map_err(|error| {
            unreachable(format!("the cluster has no answer for `{name}`: {error}")).because(error)
        })?;
        let addresses: Vec<Addr> = got.kvs().iter().filter_map(address).collect();
        match addresses.is_empty() {
            true => Err(unreachable(format!("no address of `{name}` is below `{prefix}`"))),
            false => Ok(addresses),
        }
    }
}

fn address(entry: &KeyValue) -> Option<Addr> {
    let text = String::from_utf8_lossy(entry.value());
    let parsed = text.trim().parse::<Addr>();
    if let Err(error) = &parsed {
        tracing::warn!(target: "bertha::negotiation", key = %String::from_utf8_lossy(entry.key()), %error, "skipped an instance");
    }
    parsed.ok()
}

#[cold]
fn unreachable(what: String) -> Error {
    Error::new(ErrorKind::Unreachable, what).at("Etcd")
}

impl Resolver for Etcd {
    fn resolve<'a>(&'a self, name: &'a Name) -> BoxFuture<'a, Result<Vec<Addr>, Error>> {
        Box::pin(self.instances(name))
    }
}

bertha_core::debug_fields!(Etcd { endpoints, prefix });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_a_cluster_are_taken() {
        for url in ["etcd://a:1", "etcd://a:1,b:2", "etcd://a:1/"] {
            assert!(Etcd::new(url, "/services/").is_ok(), "{url}");
        }
        for url in [
            "",
            "a:1",
            "etcd://",
            "etcd://a",
            "etcd://a:1,b",
            "etcds://a:1",
            "etcd://user:word@a:1",
            "etcd://a:1/b",
        ] {
            assert_eq!(Etcd::new(url, "/services/").unwrap_err().kind(), ErrorKind::Invalid, "{url}");
        }
    }
}
