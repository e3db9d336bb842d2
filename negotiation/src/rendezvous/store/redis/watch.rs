//! Changes, as the server publishes them.

use super::channels::Subscription;
use crate::rendezvous::store::interface::Watch;
use crate::rendezvous::store::transaction::Revision;
use bertha_core::{Error, ErrorKind};

/// Reports changes of a connection's entries in Redis, over the store's connection to the server.
pub struct RedisWatch(pub(super) Subscription);

impl Watch for RedisWatch {
    async fn changed(&mut self) -> Result<Revision, Error> {
        let hung_up = || Error::new(ErrorKind::Unreachable, "the server hung up").at("RedisStore");
        self.0.next().await.ok_or_else(hung_up)
    }
}

bertha_core::debug_fields!(RedisWatch {});
