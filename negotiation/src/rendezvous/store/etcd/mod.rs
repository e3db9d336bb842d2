//! The store in etcd.
//!
//! Entries are keys under a prefix of the connection, a transaction is an etcd transaction with compares of
//! modification revisions, and an entry with a time to live has a lease of its own.

mod address;
mod failure;
mod leases;
mod watch;

pub use watch::EtcdWatch;

use super::interface::RendezvousStore;
use super::limits;
use super::name::Name;
use super::options::StoreOptions;
use super::transaction::{Entry, Outcome, Revision, Snapshot, Transaction, Write};
use super::url::Url;
use address::Address;
use bertha_core::{Error, ErrorKind};
use etcd_client::{
    Client, Compare, CompareOp, GetOptions, GetResponse, KvClient, PutOptions, Txn, TxnOp, TxnOpResponse,
};
use failure::{in_time, malformed, says_no_lease};
use futures_util::future::{join, join_all};
use leases::Leases;
use std::fmt;
use std::time::Duration;
use tokio::sync::OnceCell;

/// The prefix of a connection's name.
const PREFIX: &str = "/bertha/rendezvous/";

/// A store in an etcd cluster of version 3.4 or later. Runs on tokio alone.
///
/// # Rights
/// Participants need only a role that may read and write below one prefix:
///
/// ```text
#[doc = include_str!("participant.role")]
/// ```
///
/// `bertha inspect` needs the same role, with `read` alone. etcd lets every user grant leases.
///
/// # Failures
/// The store connects when it is first used, and again when the connection was lost, or has been silent for
/// eight seconds. Times to live are whole seconds, rounded up, and at least the time that the cluster's
/// election time-out requires.
///
/// A record whose participants all crashed stays, with a few hundred bytes, until its name is used again.
pub struct EtcdStore {
    address: Address,
    client: OnceCell<Client>,
    leases: Leases,
}

impl EtcdStore {
    /// Makes a store at `url`: `etcd://[user:password@]host:port[,host:port...]`, or `etcds://` for TLS, with
    /// the parameters of [`StoreOptions`].
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if `url` is no such address; [`Io`](bertha_core::ErrorKind::Io) if a
    /// file can't be read; [`Unavailable`](ErrorKind::Unavailable) for `etcds://` without the feature `store-tls`.
    /// A missing server or a wrong certificate is reported at the first use.
    pub fn new(url: &str) -> Result<Self, Error> {
        Self::with_options(url, StoreOptions::new())
    }

    /// Makes a store at `url`, with these proofs of identity.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub fn with_options(url: &str, options: StoreOptions) -> Result<Self, Error> {
        let url = Url::parse(url, options).map_err(|error| error.at("EtcdStore"))?;
        Ok(Self { address: Address::new(url)?, client: OnceCell::new(), leases: Leases::default() })
    }

    async fn client(&self) -> Result<Client, Error> {
        Ok(self.client.get_or_try_init(|| self.address.connect()).await?.clone())
    }

    async fn snapshot(&self, kv: &mut KvClient, name: &Name) -> Result<Snapshot, Error> {
        let got = in_time(kv.get(prefix(name), Some(everything()))).await?;
        snapshot(&got, name)
    }

    /// Carries the transaction out, with these leases for the entries that have a time to live; returns
    /// `None` if a lease has expired.
    async fn transact_with(
        &self,
        kv: &mut KvClient,
        name: &Name,
        transaction: &Transaction,
        leases: &[(&str, i64)],
    ) -> Result<Option<Outcome>, Error> {
        let compares = transaction.conditions().iter().map(|(key, version)| {
            // The revision of a missing key is 0 in etcd as well.
            Compare::mod_revision(full_key(name, key), CompareOp::Equal, version.0 as i64)
        });
        let writes = transaction.writes().iter().map(|(key, write)| match write {
            Write::Put { value, .. } => {
                let lease = leases.iter().find(|(leased, _)| leased == key);
                let options = lease.map(|(_, lease)| PutOptions::new().with_lease(*lease));
                TxnOp::put(full_key(name, key), value.as_slice(), options)
            }
            Write::Delete => TxnOp::delete(full_key(name, key), None),
        });
        let read = TxnOp::get(prefix(name), Some(everything()));
        let writes: Vec<TxnOp> = writes.chain([read.clone()]).collect();
        let transaction = Txn::new().when(compares.collect::<Vec<_>>()).and_then(writes).or_else([read]);
        let answer = match in_time(kv.txn(transaction)).await {
            Err(error) if says_no_lease(&error) => return Ok(None),
            answer => answer?,
        };
        let Some(TxnOpResponse::Get(got)) = answer.op_responses().pop() else {
            return Err(malformed("a transaction without its read"));
        };
        Ok(Some(Outcome { applied: answer.succeeded(), snapshot: snapshot(&got, name)? }))
    }
}

fn prefix(name: &Name) -> String {
    format!("{PREFIX}{name}/")
}

fn full_key(name: &Name, key: &str) -> String {
    format!("{PREFIX}{name}/{key}")
}

/// Returns the options for reading all entries of a connection, up to one entry more than allowed.
fn everything() -> GetOptions {
    GetOptions::new().with_prefix().with_limit(limits::ENTRIES as i64 + 1)
}

fn snapshot(got: &GetResponse, name: &Name) -> Result<Snapshot, Error> {
    if got.kvs().len() > limits::ENTRIES {
        let what = format!("the connection has more than {} entries", limits::ENTRIES);
        return Err(Error::new(ErrorKind::Exhausted, what).at("EtcdStore"));
    }
    let header = got.header().ok_or_else(|| malformed("an answer without header"))?;
    let mut snapshot = Snapshot { revision: Revision(header.revision() as u64), ..Snapshot::default() };
    for kv in got.kvs() {
        let key = kv.key_str().map_err(|_| malformed("a key that is no text"))?;
        let key = key.strip_prefix(&prefix(name)).ok_or_else(|| malformed("a key of another connection"))?;
        let entry = Entry { version: Revision(kv.mod_revision() as u64), value: kv.value().to_vec() };
        snapshot.entries.insert(key.into(), entry);
    }
    Ok(snapshot)
}

impl RendezvousStore for EtcdStore {
    type Watch = EtcdWatch;

    async fn transact(&self, name: &Name, transaction: &Transaction) -> Result<Outcome, Error> {
        transaction.check()?;
        let client = self.client().await?;
        let mut kv = client.kv_client();
        let entries = leased(transaction);
        let kept: Option<Vec<_>> =
            entries.iter().map(|&(key, ttl)| Some((key, self.leases.kept(name, key, ttl)?))).collect();
        if let Some(leases) = kept {
            // The write restarts the times of the entries. All renewals are sent at once.
            let renewals = join_all(leases.iter().map(|&(_, lease)| leases::keep_alive(&client, lease)));
            let write = self.transact_with(&mut kv, name, transaction, &leases);
            let (renewed, outcome) = join(renewals, write).await;
            renewed.into_iter().collect::<Result<Vec<bool>, Error>>()?;
            if let Some(outcome) = outcome? {
                return Ok(outcome);
            }
        }
        // Leases take a round trip of their own. In the meantime a read shows whether the transaction can
        // succeed.
        let grants = join_all(entries.iter().map(|&(_, ttl)| leases::grant(&client, ttl)));
        let (granted, snapshot) = join(grants, self.snapshot(&mut kv, name)).await;
        let snapshot = snapshot?;
        let mut leases = Vec::new();
        for (&(key, ttl), lease) in entries.iter().zip(granted) {
            let lease = lease?;
            self.leases.keep(name, key, ttl, lease);
            leases.push((key, lease));
        }
        if !snapshot.satisfies(transaction) {
            return Ok(Outcome { applied: false, snapshot });
        }
        let outcome = self.transact_with(&mut kv, name, transaction, &leases).await?;
        outcome.ok_or_else(|| {
            Error::new(ErrorKind::Unreachable, "a lease expired before it was used").at("EtcdStore")
        })
    }

    async fn renew(&self, name: &Name, key: &str, ttl: Duration) -> Result<Option<Revision>, Error> {
        let client = self.client().await?;
        let mut kv = client.kv_client();
        let lease = match self.leases.kept(name, key, ttl) {
            Some(lease) => Some(lease),
            None => in_time(kv.get(full_key(name, key), None)).await?.kvs().first().map(|kv| kv.lease()),
        };
        let Some(lease) = lease.filter(|lease| *lease != 0) else { return Ok(None) };
        let (renewed, got) =
            join(leases::keep_alive(&client, lease), in_time(kv.get(full_key(name, key), None))).await;
        let got = got?;
        if !renewed? || got.kvs().first().is_none_or(|kv| kv.lease() != lease) {
            self.leases.forget(name, key);
            return Ok(None);
        }
        self.leases.keep(name, key, ttl, lease);
        Ok(got.header().map(|header| Revision(header.revision() as u64)))
    }

    async fn watch(&self, name: &Name) -> Result<EtcdWatch, Error> {
        EtcdWatch::new(&self.client().await?, prefix(name)).await
    }

    async fn names(&self, limit: usize) -> Result<Vec<Name>, Error> {
        let mut kv = self.client().await?.kv_client();
        let mut names = Vec::new();
        // The search goes from each connection on to the first key behind it.
        let mut from = PREFIX.to_owned();
        while names.len() < limit {
            let one = GetOptions::new().with_range(after(PREFIX)).with_limit(1).with_keys_only();
            let got = in_time(kv.get(from, Some(one))).await?;
            let Some(key) = got.kvs().first() else { break };
            let rest = key.key_str().ok().and_then(|key| key.strip_prefix(PREFIX)).unwrap_or_default();
            let name = rest.split('/').next().unwrap_or_default();
            names.extend(Name::new(name).ok());
            from = after(&format!("{PREFIX}{name}/"));
        }
        Ok(names)
    }

    fn address(&self) -> Option<String> {
        Some(self.address.endpoints())
    }
}

/// Returns the first key behind all keys that start with `prefix`, which ends with a slash.
fn after(prefix: &str) -> String {
    format!("{}0", prefix.trim_end_matches('/'))
}

/// Returns the writes that have a time to live.
fn leased(transaction: &Transaction) -> Vec<(&str, Duration)> {
    let writes = transaction.writes().iter();
    let leased = writes.filter_map(|(key, write)| match write {
        Write::Put { ttl: Some(ttl), .. } => Some((key.as_str(), *ttl)),
        _ => None,
    });
    leased.collect()
}

impl fmt::Debug for EtcdStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdStore").field("at", &self.address).finish_non_exhaustive()
    }
}
