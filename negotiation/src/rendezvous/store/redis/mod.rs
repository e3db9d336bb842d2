//! The store in a Redis server.
//!
//! The entries of a connection are one hash, so that a connection lives on one node of a cluster, and every
//! operation on the entries is one run of a script. Entries carry the time at which they expire, by the
//! server's clock; the next run of the script removes expired entries. Changes are published on a channel.
//!
//! One connection to the server carries the requests of all participants that share the store, and the
//! changes that they watch (RESP3 pushes). So a participant that joins where other participants of the
//! process have joined waits for no connection and no subscription.

mod address;
mod channels;
mod failure;
mod silence;
mod watch;

pub use watch::RedisWatch;

use super::interface::RendezvousStore;
use super::limits;
use super::name::Name;
use super::options::StoreOptions;
use super::transaction::{Entry, Outcome, Revision, Snapshot, Transaction, Write};
use super::url::Url;
use bertha_core::{Error, ErrorKind};
use channels::{Channels, Subscription};
use failure::{failure, malformed};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, PushInfo, Script, ScriptInvocation};
use silence::Silence;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// The prefix of a connection's name in the key of its hash. The braces make a cluster keep key and channel
/// on one node.
const PREFIX: &str = "bertha:rendezvous:{";

/// Time for which an untouched hash is kept, in milliseconds: a day. A connection whose participants all
/// crashed leaves only this hash behind.
const RETENTION_MS: u64 = 24 * 60 * 60 * 1000;

/// The time limit of connecting, and of each answer of the server.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// A store in a Redis server of version 6 or later. Runs on tokio alone.
///
/// # Rights
/// Participants need only the rights of this user of the server's ACL, as a line of its `aclfile`:
///
/// ```text
#[doc = include_str!("participant.acl")]
/// ```
///
/// [`names`](RendezvousStore::names), which `bertha inspect` calls without given names, needs `+scan` as
/// well, which shows the names of all keys of the server.
///
/// # Failures
/// The store connects when it is first used, and again when the connection was lost, or an answer is overdue
/// by two seconds. The store is as durable as the server: with replication or without `appendfsync always`, a
/// server that crashes may forget confirmed writes. Participants notice, and join anew.
pub struct RedisStore {
    client: Client,
    server: Mutex<Option<Server>>,
    script: Script,
}

/// The connection to the server, which all callers share.
#[derive(Clone)]
struct Server {
    connection: MultiplexedConnection,
    channels: Arc<Channels>,
    silence: Arc<Silence>,
}

impl Server {
    fn is_of_use(&self) -> bool {
        !self.channels.is_over() && !self.silence.has_lasted(ANSWER_TIMEOUT)
    }
}

impl RedisStore {
    /// Makes a store at `url`: `redis://[user:password@]host[:port][/database]`, or `rediss://` for TLS, with
    /// the parameters of [`StoreOptions`].
    ///
    /// # Errors
    /// [`Invalid`](bertha_core::ErrorKind::Invalid) if `url` is no such address, or a certificate is no PEM;
    /// [`Io`](bertha_core::ErrorKind::Io) if a file can't be read;
    /// [`Unavailable`](bertha_core::ErrorKind::Unavailable) for `rediss://` without the feature `store-tls`. A
    /// missing server is reported at the first use.
    pub fn new(url: &str) -> Result<Self, Error> {
        Self::with_options(url, StoreOptions::new())
    }

    /// Makes a store at `url`, with these proofs of identity.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub fn with_options(url: &str, options: StoreOptions) -> Result<Self, Error> {
        let client = address::client(Url::parse(url, options).map_err(|error| error.at("RedisStore"))?)?;
        Ok(Self { client, server: Mutex::new(None), script: Script::new(include_str!("transact.lua")) })
    }

    async fn run(
        &self,
        name: &Name,
        call: &ScriptInvocation<'_>,
    ) -> Result<(bool, Revision, Vec<Vec<u8>>), Error> {
        let mut server = self.server().await?;
        server.silence.on_request();
        let answer: Result<(u8, u64, Vec<Vec<u8>>), _> = call.invoke_async(&mut server.connection).await;
        server.silence.on_answer();
        match answer {
            Ok((applied, revision, entries)) => Ok((applied == 1, Revision(revision), entries)),
            Err(error) => Err(unless_foreign(self.lost(&server, error).await, name)),
        }
    }

    async fn server(&self) -> Result<Server, Error> {
        let mut shared = self.server.lock().await;
        if let Some(server) = shared.as_ref().filter(|server| server.is_of_use()) {
            return Ok(server.clone());
        }
        if let Some(server) = shared.take() {
            server.channels.end();
        }
        let channels = Arc::new(Channels::default());
        let pushes = channels.clone();
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(ANSWER_TIMEOUT))
            .set_response_timeout(Some(ANSWER_TIMEOUT))
            .set_push_sender(move |push: PushInfo| {
                pushes.on_push(push);
                Ok::<_, Infallible>(())
            });
        let connection =
            self.client.get_multiplexed_async_connection_with_config(&config).await.map_err(failure)?;
        Ok(shared.insert(Server { connection, channels, silence: Arc::default() }).clone())
    }

    /// Gives the connection up if `error` shows that it is not usable any more. Its watches end, and begin
    /// anew over the next connection.
    async fn lost(&self, server: &Server, error: redis::RedisError) -> Error {
        if error.is_unrecoverable_error() || error.is_timeout() {
            self.server.lock().await.take_if(|it| Arc::ptr_eq(&it.channels, &server.channels));
            server.channels.end();
        }
        failure(error)
    }

    /// Prepares a run of the script, up to the conditions.
    fn call(&self, name: &Name) -> ScriptInvocation<'_> {
        let mut call = self.script.key(key(name));
        call.arg(channel(name)).arg(limits::ENTRIES).arg(RETENTION_MS);
        call
    }
}

fn key(name: &Name) -> String {
    format!("{PREFIX}{name}}}")
}

/// Adds the remedy to the error of a key that holds something which no participant has written, and which the script leaves alone.
fn unless_foreign(error: Error, name: &Name) -> Error {
    if error.kind() != ErrorKind::Malformed {
        return error;
    }
    let what = format!("{}; delete {}, and the participants make it again", error.context(), key(name));
    Error::new(error.kind(), what).at("RedisStore").because(error)
}

fn channel(name: &Name) -> String {
    format!("{PREFIX}{name}}}:changes")
}

impl RendezvousStore for RedisStore {
    type Watch = RedisWatch;

    async fn transact(&self, name: &Name, transaction: &Transaction) -> Result<Outcome, Error> {
        transaction.check()?;
        let mut call = self.call(name);
        call.arg(transaction.conditions().len());
        for (key, version) in transaction.conditions() {
            call.arg(key).arg(version.0);
        }
        for (key, write) in transaction.writes() {
            match write {
                Write::Put { value, ttl } => {
                    let ttl = ttl.map_or(String::new(), |ttl| ttl.as_millis().max(1).to_string());
                    call.arg("put").arg(key).arg(value.as_slice()).arg(ttl);
                }
                Write::Delete => {
                    call.arg("del").arg(key);
                }
            }
        }
        let (applied, revision, fields) = self.run(name, &call).await?;
        Ok(Outcome { applied, snapshot: Snapshot { revision, entries: entries(fields)? } })
    }

    async fn renew(&self, name: &Name, key: &str, ttl: Duration) -> Result<Option<Revision>, Error> {
        let mut call = self.call(name);
        call.arg(0).arg("renew").arg(key).arg(ttl.as_millis().max(1).to_string());
        let (renewed, revision, _) = self.run(name, &call).await?;
        Ok(renewed.then_some(revision))
    }

    async fn watch(&self, name: &Name) -> Result<RedisWatch, Error> {
        let server = self.server().await?;
        let Server { connection, channels, silence } = server.clone();
        silence.on_request();
        let subscription = Subscription::new(channels, connection, channel(name)).await;
        silence.on_answer();
        match subscription {
            Ok(subscription) => Ok(RedisWatch(subscription)),
            Err(error) => Err(self.lost(&server, error).await),
        }
    }

    async fn names(&self, limit: usize) -> Result<Vec<Name>, Error> {
        let mut server = self.server().await?;
        let mut names = Vec::new();
        let mut cursor = 0_u64;
        loop {
            let mut scan = redis::cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(format!("{PREFIX}*}}")).arg("COUNT").arg(100);
            server.silence.on_request();
            let answer: Result<(u64, Vec<String>), _> = scan.query_async(&mut server.connection).await;
            server.silence.on_answer();
            let (next, keys) = match answer {
                Ok(answer) => answer,
                Err(error) => return Err(self.lost(&server, error).await),
            };
            let found = keys.iter().filter_map(|key| key.strip_prefix(PREFIX)?.strip_suffix('}'));
            names.extend(found.filter_map(|name| Name::new(name).ok()));
            if next == 0 || names.len() >= limit {
                // A scan may return a key twice.
                names.sort_unstable();
                names.dedup();
                names.truncate(limit);
                return Ok(names);
            }
            cursor = next;
        }
    }
    fn address(&self) -> Option<String> {
        Some(self.client.get_connection_info().addr().to_string())
    }
}

/// Reads the entries in the script's answer: key, version and value of each entry.
fn entries(fields: Vec<Vec<u8>>) -> Result<std::collections::BTreeMap<String, Entry>, Error> {
    let mut fields = fields.into_iter();
    let mut entries = std::collections::BTreeMap::new();
    while let Some(key) = fields.next() {
        let (Some(version), Some(value)) = (fields.next(), fields.next()) else {
            return Err(malformed("an entry without value"));
        };
        let key = String::from_utf8(key).map_err(|_| malformed("a key that is no text"))?;
        let version = std::str::from_utf8(&version).ok().and_then(|version| version.parse().ok());
        let version = Revision(version.ok_or_else(|| malformed("a version that is no number"))?);
        entries.insert(key, Entry { version, value });
    }
    Ok(entries)
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The output has the address alone, since the client's description contains the password.
        f.debug_struct("RedisStore")
            .field("at", &self.client.get_connection_info().addr())
            .finish_non_exhaustive()
    }
}
