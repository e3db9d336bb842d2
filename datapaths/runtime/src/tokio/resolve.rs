//! Name resolution by the operating system.

use bertha_core::{Addr, Error, ErrorKind, MAX_ADDRESSES, Name};

/// Resolves a host to its addresses, in the order of the system, which follows RFC 6724.
pub(crate) async fn by_system(name: Name) -> Result<Vec<Addr>, Error> {
    let Some(port) = name.port() else {
        let what = format!("`{name}` has no port; the system resolves hosts, written like example.org:80");
        return Err(Error::new(ErrorKind::Invalid, what));
    };
    match tokio::net::lookup_host((name.host(), port)).await {
        Ok(addresses) => Ok(addresses.map(Addr::Ip).take(MAX_ADDRESSES).collect()),
        Err(error) => {
            let what = format!("the system finds no address of `{name}`: {error}");
            Err(Error::new(ErrorKind::Unreachable, what).because(error))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn of(name: &str) -> Result<Vec<Addr>, Error> {
        by_system(name.parse().unwrap()).await
    }

    #[tokio::test]
    async fn the_loopback_has_its_name_and_nobody_has_an_invalid_one() {
        let found = of("localhost:80").await.unwrap();
        let is_loopback =
            |addr: &Addr| addr.ip("test").is_ok_and(|ip| ip.ip().is_loopback() && ip.port() == 80);
        assert!(!found.is_empty() && found.iter().all(is_loopback), "{found:?}");
        assert_eq!(of("localhost").await.unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(of("a..b:80").await.unwrap_err().kind(), ErrorKind::Unreachable);
    }
}
