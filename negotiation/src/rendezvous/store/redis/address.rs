//! The client for an address.

use super::failure::{failure, misused};
use crate::rendezvous::store::options::{Login, StoreOptions};
use crate::rendezvous::store::url::Url;
use bertha_core::Error;
use redis::{Client, ConnectionInfo, IntoConnectionInfo, ProtocolVersion};

/// Makes the client for a server. It does not connect yet.
pub(super) fn client(url: Url<'_>) -> Result<Client, Error> {
    let is_tls = url.scheme == "rediss";
    if !is_tls && url.scheme != "redis" {
        return Err(misused("the address has to be redis://host:port or rediss://host:port"));
    }
    url.options.check(is_tls, "rediss://", "RedisStore")?;
    // The URL has no secrets, which the client library might repeat in an error.
    let bare = format!("{}://{}/{}", url.scheme, url.hosts, url.path);
    let info = bare.as_str().into_connection_info();
    let info = info
        .map_err(|error| misused("the address has to be redis[s]://host:port[/database]").because(error))?;
    let mut settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
    if let Some(Login { user, password }) = &url.options.login {
        // A password without a name is the default user's password.
        if !user.is_empty() {
            settings = settings.set_username(user);
        }
        settings = settings.set_password(password);
    }
    open(info.set_redis_settings(settings), &url.options, is_tls)
}

#[cfg(feature = "store-tls")]
fn open(info: ConnectionInfo, options: &StoreOptions, is_tls: bool) -> Result<Client, Error> {
    use redis::{ClientTlsConfig, TlsCertificates};
    if !is_tls {
        return Client::open(info).map_err(failure);
    }
    crate::rendezvous::store::tls::choose_cryptography();
    let client_tls = options.certificate.as_ref().map(|certificate| ClientTlsConfig {
        client_cert: certificate.chain.clone(),
        client_key: certificate.key.clone(),
    });
    let certificates = TlsCertificates { client_tls, root_cert: options.authorities.clone() };
    let unreadable = |error| misused("a certificate or key is no PEM").because(error);
    Client::build_with_tls(info, certificates).map_err(unreadable)
}

#[cfg(not(feature = "store-tls"))]
fn open(info: ConnectionInfo, _: &StoreOptions, _: bool) -> Result<Client, Error> {
    Client::open(info).map_err(failure)
}
