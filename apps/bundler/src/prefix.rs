//! Addresses that begin alike.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The addresses that begin with some bits, as `10.1.0.0/16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Prefix {
    address: IpAddr,
    bits: u8,
}

impl Prefix {
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        let differing = match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => (own.to_bits() ^ other.to_bits()).leading_zeros(),
            (IpAddr::V6(own), IpAddr::V6(other)) => (own.to_bits() ^ other.to_bits()).leading_zeros(),
            _ => return false,
        };
        differing >= u32::from(self.bits)
    }

    pub(crate) fn is_v6(&self) -> bool {
        self.address.is_ipv6()
    }
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is no prefix of addresses; examples are 10.1.0.0/16 and 2001:db8::/32");
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), str::parse).map_err(|_| wrong())?;
        if bits > most { Err(wrong()) } else { Ok(Self { address, bits }) }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(prefix: &str, address: &str) -> bool {
        prefix.parse::<Prefix>().unwrap().contains(address.parse().unwrap())
    }

    #[test]
    fn a_prefix_contains_the_addresses_that_begin_with_it() {
        for (prefix, inside, outside) in [
            ("10.1.0.0/16", "10.1.255.1", "10.2.0.1"),
            ("10.1.0.0/15", "10.0.0.1", "10.2.0.1"),
            ("10.1.2.3", "10.1.2.3", "10.1.2.2"),
            ("0.0.0.0/0", "255.0.0.1", "::1"),
            ("2001:db8::/32", "2001:db8:1::1", "2001:db9::"),
            ("::/0", "2001::", "0.0.0.0"),
        ] {
            assert!(contains(prefix, inside), "{prefix}");
            assert!(!contains(prefix, outside), "{prefix}");
        }
    }

    #[test]
    fn what_is_no_prefix_is_refused() {
        for text in ["", "10.1/16", "10.1.0.0/33", "::/129", "10.1.0.0/-1", "10.1.0.0/", "eth0"] {
            assert!(text.parse::<Prefix>().unwrap_err().contains(text), "{text}");
        }
        assert_eq!("10.1.2.3".parse::<Prefix>().unwrap().to_string(), "10.1.2.3/32");
    }
}
