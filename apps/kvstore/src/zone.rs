//! Addresses with zones.

use bertha::{Error, ErrorKind};
use rustix::net::{AddressFamily, SocketType, netdevice, socket};
use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6};

/// The IP address and port that `text` is. The zone of an IPv6 address may be the name of an interface: `[fe80::1%eth0]:4242`.
///
/// # Errors
/// [`Invalid`](ErrorKind::Invalid) if it is no address and port, and if there is no interface of that name.
pub fn parse(text: &str) -> Result<SocketAddr, Error> {
    text.parse().or_else(|source| match named(text) {
        Some((ip, zone, port)) => {
            let zone = interface(zone).map_err(|error| {
                let what = format!("address `{text}` has the zone `{zone}`, and there is no such interface");
                Error::new(ErrorKind::Invalid, what).because(error)
            })?;
            Ok(SocketAddrV6::new(ip, port, 0, zone).into())
        }
        None => {
            let what = format!(
                "address `{}` is no IP:PORT like 127.0.0.1:4242 or [fe80::1%eth0]:4242",
                text.escape_debug()
            );
            Err(Error::new(ErrorKind::Invalid, what).because(source))
        }
    })
}

/// The parts of `[ADDRESS%NAME]:PORT`.
fn named(text: &str) -> Option<(Ipv6Addr, &str, u16)> {
    let (inner, port) = text.strip_prefix('[')?.rsplit_once("]:")?;
    let (ip, zone) = inner.split_once('%')?;
    Some((ip.parse().ok()?, zone, port.parse().ok()?))
}

/// The number of the interface of this name.
fn interface(name: &str) -> rustix::io::Result<u32> {
    netdevice::name_to_index(socket(AddressFamily::INET6, SocketType::DGRAM, None)?, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_a_name_or_a_number() {
        let lo = parse("[fe80::1%lo]:7300").unwrap();
        let SocketAddr::V6(addr) = lo else { panic!("{lo}") };
        assert_ne!(addr.scope_id(), 0);
        assert_eq!(parse(&format!("[fe80::1%{}]:7300", addr.scope_id())).unwrap(), lo);
        for plain in ["127.0.0.1:80", "[::1]:80"] {
            assert_eq!(parse(plain).unwrap().to_string(), plain);
        }
    }

    #[test]
    fn what_is_none_is_refused_by_its_name() {
        let refusal = |text: &str| parse(text).unwrap_err().to_string();
        assert!(refusal("[fe80::1%nowhere]:1").contains("no such interface"));
        for text in ["[fe80::1%lo]", "[fe80::1%lo]:65536", "[127.0.0.1%lo]:1", "fe80::1%lo:1", "unix:/a", ""]
        {
            assert!(refusal(text).contains("is no IP:PORT"), "{text}");
        }
    }
}
