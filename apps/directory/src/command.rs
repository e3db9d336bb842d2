//! The command line.

use bertha_core::{Addr, Error};
use bertha_local::Directory;
use bertha_local::directory::Rules;
use bertha_local::directory::server::DirectoryServer;
use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// The time that a person waits for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The directory of a machine: it tells services of the same machine about each other.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Arguments {
    /// The directory's socket. The rights of its folder say who may ask and register.
    #[arg(long, default_value = "/run/bertha/directory.sock")]
    socket: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the directory until it is interrupted.
    Serve {
        /// Keeps a name for a user: NAME=UID. With * at its end, all names that begin so.
        #[arg(long = "keep")]
        kept: Vec<Kept>,
        /// Keeps all addresses that begin with PREFIX for a user: PREFIX=UID, as 10.0.0.7:=1000. Processes of this user register such an
        /// address without listening there; processes of other users, root included, can't.
        #[arg(long = "keep-address")]
        kept_addresses: Vec<Kept>,
    },
    /// Shows a service, by its name or one of its addresses.
    Lookup {
        /// The name; or an address such as 10.0.0.7:4000, where no service has that name.
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
    pub(crate) async fn execute(self) -> Result<(), Error> {
        match self.command {
            Command::Serve { kept, kept_addresses } => serve(self.socket, rules(kept, kept_addresses)).await,
            Command::Lookup { service, address } => {
                let directory = Directory::at(self.socket).patience(PATIENCE);
                let by_name = match address {
                    true => None,
                    false => directory.lookup(&*service).await?,
                };
                let found = match (by_name, service.parse::<Addr>()) {
                    (None, Ok(addr)) => directory.lookup(&addr).await?,
                    (None, Err(error)) if address => return Err(error),
                    (found, _) => found,
                };
                show(found.as_ref());
                Ok(())
            }
        }
    }
}

fn rules(names: Vec<Kept>, addresses: Vec<Kept>) -> Rules {
    let rules = names.into_iter().fold(Rules::new(), |rules, Kept { name, user }| rules.keep(name, user));
    addresses.into_iter().fold(rules, |rules, Kept { name, user }| rules.keep_address(name, user))
}

async fn serve(socket: PathBuf, rules: Rules) -> Result<(), Error> {
    let server = DirectoryServer::listen(socket, rules)?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    // Dropping the server removes its socket.
    tokio::select! {
        served = server.serve() => served,
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
    }
}

#[expect(clippy::print_stdout, reason = "this is the program's output")]
fn show(found: Option<&bertha_local::directory::Found>) {
    match found {
        Some(found) => {
            // The owner of a service chooses its name and addresses, which go to a terminal here.
            let shown = |text: &str| text.escape_debug().to_string();
            let addresses: Vec<_> = found.addresses.iter().map(|address| shown(address)).collect();
            println!("{} of user {}: {}", shown(&found.name), found.user, addresses.join(" "));
        }
        None => println!("not on this machine"),
    }
}
