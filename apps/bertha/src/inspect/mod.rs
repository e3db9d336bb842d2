//! The subcommand `bertha inspect`: the connections in a rendezvous store, each with its active stack, its
//! round and its participants.

mod follow;
mod print;
mod status;

use self::follow::follow;
use self::print::Printer;
use self::status::Status;
use bertha::{Error, ErrorKind};
use bertha_negotiation::rendezvous::{Name, RendezvousStore};
use bertha_program::{Termination, exposure};
use clap::Args;

/// Shows the connections in a rendezvous store: round, active stack, participants, and the upgrade under way.
#[derive(Debug, Args)]
pub(crate) struct Inspect {
    /// Address of the store: redis://host:port or etcd://host:port[,host:port...]; rediss:// and etcds:// for
    /// TLS, with a login as user@ and files as ?ca=FILE&cert=FILE&key=FILE&password_file=FILE.
    #[arg(value_name = "URL")]
    store: String,
    /// Shows only these connections.
    #[arg(value_name = "NAME")]
    names: Vec<Name>,
    /// Goes on showing each connection that changes.
    #[arg(long, short)]
    follow: bool,
    /// Prints a JSON object per line instead of a table.
    #[arg(long, short = 'J')]
    json: bool,
    /// Shows at most this number of connections.
    #[arg(long, value_name = "COUNT", default_value_t = 1000)]
    limit: usize,
}

impl Inspect {
    pub(crate) async fn execute(self, termination: &Termination) -> Result<(), Error> {
        match self.follow {
            // The changes have no end, so a signal is the end that the user wants.
            true => termination.serve(self.run()).await,
            false => termination.work(self.run()).await,
        }
    }

    async fn run(self) -> Result<(), Error> {
        exposure::warn_of_files_in(&self.store);
        match self.store.split_once("://").map(|(scheme, _)| scheme) {
            #[cfg(feature = "redis")]
            Some("redis" | "rediss") => {
                let store = bertha_negotiation::rendezvous::RedisStore::new(&self.store)?;
                self.show(store).await
            }
            #[cfg(feature = "etcd")]
            Some("etcd" | "etcds") => {
                let store = bertha_negotiation::rendezvous::EtcdStore::new(&self.store)?;
                self.show(store).await
            }
            #[cfg(not(feature = "redis"))]
            Some("redis" | "rediss") => Err(built_without("redis")),
            #[cfg(not(feature = "etcd"))]
            Some("etcd" | "etcds") => Err(built_without("etcd")),
            _ => Err(Error::new(
                ErrorKind::Invalid,
                "the store has to be redis[s]://host:port or etcd[s]://host:port",
            )),
        }
    }

    async fn show(self, store: impl RendezvousStore) -> Result<(), Error> {
        let names = match self.names.is_empty() {
            true => store.names(self.limit).await?,
            false => self.names.clone(),
        };
        let mut printer = Printer::new(self.json);
        let mut all = Vec::new();
        for name in names {
            let status = Status::of(&name, &store.read(&name).await?);
            all.push((name, status));
        }
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        let statuses: Vec<&Status> = all.iter().map(|(_, status)| status).collect();
        printer.print(&statuses).await?;
        match self.follow {
            true => follow(store, &self.names, self.limit, all, &mut printer).await,
            false => Ok(()),
        }
    }
}

#[cfg(not(all(feature = "redis", feature = "etcd")))]
fn built_without(feature: &str) -> Error {
    let what = format!("built without support for {feature}; build it with --features {feature}");
    Error::new(ErrorKind::Unavailable, what)
}
