//! The command line.

use bertha_core::{Addr, Error};
use bertha_local::Directory;
use bertha_local::directory::server::DirectoryServer;
use bertha_local::directory::{DirectoryStatistics, Found, Rules};
use bertha_program::{Termination, Watched, Watching, escaped, make_socket_folder, say};
use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// The time that a person waits for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The directory of a machine: it tells services of the same machine about each other.
#[derive(Debug, Parser)]
#[command(name = "bertha-directory", version)]
pub(crate) struct Arguments {
    /// The directory's socket. The rights of its folder, which the directory makes in `/run`, say who may ask and register.
    #[arg(long, value_name = "FILE", default_value = "/run/bertha/directory.sock")]
    socket: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the directory until SIGINT or SIGTERM comes.
    Serve {
        /// Keeps a name for a user: NAME=UID. With * at its end, all names that begin so.
        #[arg(long = "keep", value_name = "NAME=UID")]
        kept: Vec<Kept>,
        /// Keeps all addresses that begin with PREFIX for a user: PREFIX=UID, as 10.0.0.7:=1000. Processes of this user register such an
        /// address without listening there; processes of other users, root included, can't.
        #[arg(long = "keep-address", value_name = "PREFIX=UID")]
        kept_addresses: Vec<Kept>,
        #[command(flatten)]
        watching: Watching,
    },
    /// Shows a service, by its name or one of its addresses.
    Lookup {
        /// The name; or an address such as 10.0.0.7:4000, where no service has that name.
        #[arg(value_name = "SERVICE")]
        service: String,
        /// Looks for an address alone.
        #[arg(long)]
        address: bool,
    },
}

/// A name or the beginning of an address, and its user.
#[derive(Debug, Clone)]
struct Kept {
    name: String,
    user: u32,
}

impl FromStr for Kept {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.rsplit_once('=').and_then(|(name, user)| Some((name.into(), user.parse().ok()?)));
        let (name, user) = parts.ok_or("a name and the number of a user, as in store=1000")?;
        Ok(Self { name, user })
    }
}

impl Arguments {
    pub(crate) async fn execute(self, termination: &Termination) -> Result<(), Error> {
        match self.command {
            Command::Serve { kept, kept_addresses, watching } => {
                let watched = watching.begin("bertha-directory")?;
                make_socket_folder(&self.socket)?;
                let server = Arc::new(DirectoryServer::listen(self.socket, rules(kept, kept_addresses))?);
                watch(&watched, &server)?;
                // Dropping the server removes its socket.
                termination.serve(server.serve()).await
            }
            Command::Lookup { service, address } => {
                let looking = lookup(self.socket, &service, address);
                show(termination.work(looking).await?.as_ref());
                Ok(())
            }
        }
    }
}

/// Adds the statistics of the directory to its metrics.
fn watch(watched: &Watched, server: &Arc<DirectoryServer>) -> Result<(), Error> {
    // The metrics keep no socket in place when the directory ends.
    let read = |read: fn(DirectoryStatistics) -> u64| {
        let server = Arc::downgrade(server);
        move || server.upgrade().map_or(0, |server| read(server.statistics()))
    };
    let clients = read(|statistics| statistics.clients as u64);
    watched.gauge("directory_clients", "Connections at this moment.", clients)?;
    let services = read(|statistics| statistics.services as u64);
    watched.gauge("directory_services", "Services at this moment.", services)?;
    let turned_away = read(|statistics| statistics.turned_away);
    watched.counter(
        "directory_clients_turned_away_total",
        "Clients for which there was no place.",
        turned_away,
    )?;
    let visitors = read(|statistics| statistics.visitors_refused);
    watched.counter("directory_visitors_refused_total", "Visitors that no service has read.", visitors)?;
    let server = Arc::downgrade(server);
    let refused = move || {
        let statistics = server.upgrade().map(|server| server.statistics()).unwrap_or_default();
        vec![("no_room", statistics.refused_for_room), ("rules", statistics.refused_otherwise)]
    };
    watched.counters("directory_services_refused_total", "Services that were refused.", "reason", refused)
}

async fn lookup(socket: PathBuf, service: &str, is_address: bool) -> Result<Option<Found>, Error> {
    let directory = Directory::at(socket).patience(PATIENCE);
    let by_name = match is_address {
        true => None,
        false => directory.lookup(service).await?,
    };
    match (by_name, service.parse::<Addr>()) {
        (None, Ok(addr)) => directory.lookup(&addr).await,
        (None, Err(error)) if is_address => Err(error),
        (found, _) => Ok(found),
    }
}

fn rules(names: Vec<Kept>, addresses: Vec<Kept>) -> Rules {
    let rules = names.into_iter().fold(Rules::new(), |rules, Kept { name, user }| rules.keep(name, user));
    addresses.into_iter().fold(rules, |rules, Kept { name, user }| rules.keep_address(name, user))
}

fn show(found: Option<&Found>) {
    match found {
        Some(found) => {
            // The owner of a service chooses its name and addresses, which go to a terminal here.
            let addresses: Vec<_> = found.addresses.iter().map(|address| escaped(address)).collect();
            say(format!("{} of user {}: {}", escaped(&found.name), found.user, addresses.join(" ")));
        }
        None => say("not on this machine"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha_program::style;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_as_those_of_the_other_programs() {
        assert_eq!(style::faults(Arguments::command()), [""; 0]);
    }
}
