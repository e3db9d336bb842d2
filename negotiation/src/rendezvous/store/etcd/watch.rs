//! Changes, as etcd reports them.

use super::failure::{ANSWER_TIMEOUT, failure, in_time, late};
use crate::rendezvous::store::interface::Watch;
use crate::rendezvous::store::transaction::Revision;
use bertha_core::{Error, ErrorKind};
use etcd_client::{Client, WatchOptions, WatchStream};

/// Reports changes of a connection's entries in etcd, expiry included.
pub struct EtcdWatch {
    stream: WatchStream,
}

impl EtcdWatch {
    pub(super) async fn new(client: &Client, prefix: String) -> Result<Self, Error> {
        let mut watches = client.watch_client();
        let options = WatchOptions::new().with_prefix();
        let mut stream = in_time(watches.watch(prefix, Some(options))).await?;
        // The first message says that the watch is in place.
        let created = tokio::time::timeout(ANSWER_TIMEOUT, stream.message()).await;
        match created.unwrap_or_else(|_| Err(late())).map_err(failure)? {
            Some(message) if message.created() && !message.canceled() => Ok(Self { stream }),
            _ => Err(ended()),
        }
    }
}

fn ended() -> Error {
    Error::new(ErrorKind::Unreachable, "the cluster ended the watch").at("EtcdStore")
}

impl Watch for EtcdWatch {
    async fn changed(&mut self) -> Result<Revision, Error> {
        loop {
            let Some(message) = self.stream.message().await.map_err(failure)? else { return Err(ended()) };
            if message.canceled() {
                return Err(ended());
            }
            // A message without events only shows that the watch is alive.
            let revisions =
                message.events().iter().filter_map(|event| event.kv()).map(|kv| kv.mod_revision());
            if let Some(revision) = revisions.max() {
                return Ok(Revision(revision as u64));
            }
        }
    }
}

bertha_core::debug_fields!(EtcdWatch {});
