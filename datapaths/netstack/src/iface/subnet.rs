//! An address of an interface, with its subnet.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// An address and the length of the prefix that all neighbours share: `10.0.0.1/24`, `fd00::1/64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subnet {
    /// The address of this interface.
    pub address: IpAddr,
    /// Length of the prefix in bits.
    pub prefix: u8,
}

impl Subnet {
    /// Returns true if `address` belongs to a neighbour, or to this interface.
    pub fn contains(&self, address: IpAddr) -> bool {
        let differing = match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => (own.to_bits() ^ other.to_bits()).leading_zeros(),
            (IpAddr::V6(own), IpAddr::V6(other)) => (own.to_bits() ^ other.to_bits()).leading_zeros(),
            _ => return false,
        };
        differing >= self.prefix.into()
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

impl FromStr for Subnet {
    type Err = InvalidInterface;

    fn from_str(text: &str) -> Result<Self, InvalidInterface> {
        let wrong = || InvalidInterface(format!("`{text}` is not an address with a prefix like 10.0.0.1/24"));
        let (address, prefix) = text.split_once('/').ok_or_else(wrong)?;
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let prefix: u8 = prefix.parse().map_err(|_| wrong())?;
        let max = if address.is_ipv4() { 32 } else { 128 };
        if prefix > max { Err(wrong()) } else { Ok(Self { address, prefix }) }
    }
}

/// The reason why an interface can't be as it was described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidInterface(pub(crate) String);

impl fmt::Display for InvalidInterface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidInterface {}
