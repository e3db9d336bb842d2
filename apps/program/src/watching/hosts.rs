//! The hosts by which metrics are asked for.

use hyper::http::uri::Authority;
use std::net::{IpAddr, Ipv6Addr};

/// The names of this host by which metrics may be asked for, besides its addresses and `localhost`.
///
/// A page of another site can make a browser resolve the site's name to an address of this host, and would read what is answered. Such
/// a request names that site.
#[derive(Debug, Clone)]
pub(super) struct Hosts(Vec<String>);

impl Hosts {
    pub(super) fn new(names: Vec<String>) -> Self {
        Self(names)
    }

    /// Returns true if a request for this host, which may have a port, is meant for this host.
    pub(super) fn have(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else { return false };
        let name = authority.host();
        let ip = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        let is_ip = ip.map_or_else(|| name.parse::<IpAddr>().is_ok(), |ip| ip.parse::<Ipv6Addr>().is_ok());
        let is_own = |own: &str| own.trim_end_matches('.').eq_ignore_ascii_case(name.trim_end_matches('.'));
        is_ip || is_own("localhost") || self.0.iter().any(|own| is_own(own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_own_names_are_answered_and_no_names_of_others() {
        let hosts = Hosts::new(vec!["node-1.example".into()]);
        for own in [
            "127.0.0.1",
            "10.0.0.2:9100",
            "[::1]",
            "[2001:db8::1]:9100",
            "localhost",
            "LocalHost:9100",
            "node-1.example:9100",
            "Node-1.Example.",
        ] {
            assert!(hosts.have(own), "{own}");
        }
        for other in [
            "evil.example",
            "evil.example:9100",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "",
            "x y",
            "1.2.3",
            "[localhost]",
            "node-1",
        ] {
            assert!(!hosts.have(other), "{other}");
        }
        assert!(!Hosts::new(Vec::new()).have("node-1.example"));
    }
}
