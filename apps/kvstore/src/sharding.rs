//! The shard of each request, and the place where it is chosen.

use bertha::chunnels::{Keyed, ShardMap};
use bertha::{Addr, Error, ErrorKind};
use std::net::SocketAddr;

use crate::Message;

/// The place where requests are routed to shards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Sharding {
    /// The client, which sends each request straight to its shard.
    Client,
    /// The server, which passes on the client's requests to a single address.
    Server,
    /// The server's kernel, which hands each request to its shard's socket. It takes root or CAP_BPF.
    Kernel,
    /// Any of these: the two ends agree when they connect, preferably on the client, then on the
    /// kernel.
    #[default]
    Either,
}

/// Number of bytes at the start of a key that are equal for all shards: YCSB's keys all begin with `user`.
pub const KEY_PREFIX: usize = 4;

impl Keyed for Message {
    fn key(&self) -> &[u8] {
        self.key.as_bytes()
    }
}

/// Returns the map on which both ends have to agree: these shards, in this order.
///
/// # Errors
/// [`Invalid`](ErrorKind::Invalid) if there is no shard, if there are too many, or if a shard is listed
/// twice.
pub fn shard_map(shards: impl IntoIterator<Item = Addr>) -> Result<ShardMap, Error> {
    Ok(ShardMap::new(shards)?.skip(KEY_PREFIX))
}

/// Returns the default addresses of the shards of a store at `server`: the ports that follow its own.
///
/// # Errors
/// [`Invalid`](ErrorKind::Invalid) if there are not enough ports.
pub fn shard_addrs(server: SocketAddr, shards: u16) -> Result<Vec<SocketAddr>, Error> {
    let port = |shard: u16| server.port().checked_add(shard)?.checked_add(1);
    let addrs = (0..shards).map(|shard| Some(SocketAddr::new(server.ip(), port(shard)?))).collect();
    let Some(addrs) = addrs else {
        let what = format!("{shards} shards need as many ports above that of {server}; choose a lower port");
        return Err(Error::new(ErrorKind::Invalid, what));
    };
    Ok(addrs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_listen_on_the_ports_that_follow() {
        let addrs = shard_addrs("[::1]:4242".parse().unwrap(), 3).unwrap();
        assert_eq!(addrs, ["[::1]:4243", "[::1]:4244", "[::1]:4245"].map(|addr| addr.parse().unwrap()));
        assert!(shard_addrs("1.2.3.4:65533".parse().unwrap(), 2).is_ok());
        let error = shard_addrs("1.2.3.4:65533".parse().unwrap(), 3).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }

    #[test]
    fn keys_of_ycsb_are_spread() {
        let shards = shard_addrs("127.0.0.1:1000".parse().unwrap(), 2).unwrap();
        let map = shard_map(shards.into_iter().map(Addr::from)).unwrap();
        let first =
            (1000..2000).filter(|number| map.shard_of(format!("user{number}").as_bytes()) == 0).count();
        assert!((300..700).contains(&first), "{first} of 1000");
    }
}
