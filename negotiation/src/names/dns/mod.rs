//! Names in the domain name system.

mod selection;

use bertha_core::{Addr, BoxFuture, Error, ErrorKind, MAX_ADDRESSES, Name, Resolver};
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::RData;
use selection::{Target, selected};
use std::net::SocketAddr;

/// Names in the domain name system, resolved by this process itself. It runs on tokio alone, within the
/// runtime that used it first.
///
/// A name with a port is a host, `example.org:80`: its AAAA and A records, with that port. A name without a
/// port is a service, `_store._udp.example.org`: its SRV records in the order of RFC 2782, by priority and at
/// random by weight; each of their targets is resolved as a host. Answers are cached for their time to live.
/// Records are not validated by DNSSEC; an attacker that can forge answers leads connections elsewhere, where
/// the connection's credentials or TLS stop them.
///
/// # Errors
/// [`Unreachable`](ErrorKind::Unreachable) if the name has no such record, or no server answers: after five
/// seconds and one repetition for each server.
pub struct Dns {
    resolver: TokioResolver,
}

impl Dns {
    /// Makes a resolver with the servers and search domains of the machine (`/etc/resolv.conf`,
    /// `/etc/hosts`).
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io) if the machine's configuration can't be read.
    pub fn of_machine() -> Result<Self, Error> {
        let built = TokioResolver::builder_tokio().and_then(|builder| builder.build());
        Ok(Self { resolver: built.map_err(unusable)? })
    }

    /// Makes a resolver with the servers at these addresses, over UDP, and over TCP where an answer does not
    /// fit.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io) if the system lacks a resource that the client needs.
    pub fn by_servers(servers: impl IntoIterator<Item = SocketAddr>) -> Result<Self, Error> {
        let server = |addr: SocketAddr| {
            let mut connections = vec![ConnectionConfig::udp(), ConnectionConfig::tcp()];
            connections.iter_mut().for_each(|connection| connection.port = addr.port());
            NameServerConfig::new(addr.ip(), true, connections)
        };
        let config = ResolverConfig::from_name_servers(servers.into_iter().map(server).collect());
        let builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
        Ok(Self { resolver: builder.build().map_err(unusable)? })
    }

    async fn addresses(&self, name: &Name) -> Result<Vec<Addr>, Error> {
        match name.port() {
            Some(port) => self.host(name.host(), port).await,
            None => self.service(name.host()).await,
        }
    }

    async fn host(&self, host: &str, port: u16) -> Result<Vec<Addr>, Error> {
        let found = self.resolver.lookup_ip(host).await.map_err(|error| unknown(host, error))?;
        Ok(found.iter().map(|ip| Addr::from((ip, port))).take(MAX_ADDRESSES).collect())
    }

    async fn service(&self, service: &str) -> Result<Vec<Addr>, Error> {
        let found = self.resolver.srv_lookup(service).await.map_err(|error| unknown(service, error))?;
        let targets = found.answers().iter().filter_map(|record| match &record.data {
            RData::SRV(srv) => Some(Target {
                host: srv.target.to_string(),
                port: srv.port,
                priority: srv.priority,
                weight: srv.weight,
            }),
            _ => None,
        });
        let mut addresses = Vec::new();
        let mut last = None;
        for target in selected(targets.take(MAX_ADDRESSES).collect(), rand::random) {
            // A target without an address is skipped.
            match self.host(&target.host, target.port).await {
                Ok(found) => addresses.extend(found),
                Err(error) => {
                    tracing::debug!(target: "bertha::negotiation", %error, service, "a target has no address");
                    last = Some(error);
                }
            }
            if addresses.len() >= MAX_ADDRESSES {
                break;
            }
        }
        addresses.truncate(MAX_ADDRESSES);
        match last {
            Some(error) if addresses.is_empty() => Err(error),
            _ => Ok(addresses),
        }
    }
}

impl Resolver for Dns {
    fn resolve<'a>(&'a self, name: &'a Name) -> BoxFuture<'a, Result<Vec<Addr>, Error>> {
        Box::pin(self.addresses(name))
    }
}

bertha_core::debug_fields!(Dns {});

#[cold]
fn unusable(error: NetError) -> Error {
    Error::new(ErrorKind::Io, format!("names can't be resolved: {error}")).at("Dns").because(error)
}

#[cold]
fn unknown(name: &str, error: NetError) -> Error {
    Error::new(ErrorKind::Unreachable, format!("DNS has no address of `{name}`: {error}"))
        .at("Dns")
        .because(error)
}
