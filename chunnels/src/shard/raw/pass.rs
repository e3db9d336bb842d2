//! The pass that lets a routing server forward messages undecoded.

use super::ShardRaw;
use crate::serialize::{At, Codec, KeyPlace, Serialize};
use crate::shard::ServerShard;
use bertha_core::subst;

/// A server that routes to remote shards decodes every message for its key, and encodes it again for the
/// shard. If the codec has a known offset of keys ([`Codec::Key`]), this pass replaces both layers by
/// [`ShardRaw`], which reads the key in place and forwards the message unchanged.
///
/// Nothing changes for clients and shards: they agree on the same two layers, with the same codec and offset
/// of the key.
///
/// ```
/// use bertha_chunnels::shard::{KeyAt, RouteUndecoded};
/// use bertha_chunnels::{Bincode, Keyed, Serialize, ServerShard, ShardMap};
/// use bertha_core::{Describe, make_stack, optimize};
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Request { key: String, id: u64 }
///
/// impl Keyed for Request {
///     fn key(&self) -> &[u8] { self.key.as_bytes() }
/// }
///
/// # fn main() -> Result<(), bertha_core::Error> {
/// let map = ShardMap::new(["10.0.0.1:4242".parse()?, "10.0.0.2:4242".parse()?])?;
/// let fixed = make_stack!(ServerShard::new(map.clone()), Serialize::<Request, KeyAt<8>>::new());
/// assert_eq!(
///     optimize!(fixed, RouteUndecoded).reports()[0].to_string(),
///     "RouteUndecoded: ServerShard / Serialize[bincode] became ShardRaw(ServerShard / Serialize[bincode])",
/// );
///
/// let anywhere = make_stack!(ServerShard::new(map), Serialize::<Request, Bincode>::new());
/// assert!(optimize!(anywhere, RouteUndecoded).reports()[0].changes().is_empty());
/// # Ok(())
/// # }
/// ```
#[subst(
    for<T, C: Codec<T>, const OFFSET: usize>
    if [*, ServerShard, Serialize<T, C>, *]
    when <<C as Codec<T>>::Key as KeyPlace>::Fixed
    then [*, ShardRaw<OFFSET, T, C>, *] with |shard, serialize| ShardRaw::new(shard, serialize)
    where C: Codec<T, Key = At<OFFSET>>
)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RouteUndecoded;
