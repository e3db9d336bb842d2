//! The command line.

use bertha_core::Error;
use bertha_local::Directory;
use bertha_local::directory::Rules;
use bertha_local::directory::server::DirectoryServer;
use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::str::FromStr;
use tokio::signal::unix::{SignalKind, signal};

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
    },
    /// Shows a service, by its name or one of its addresses.
    Lookup {
        /// The name, or an address such as 10.0.0.7:4000 with --address.
        service: String,
        /// Looks for an address.
        #[arg(long)]
        address: bool,
    },
}

/// A name and its user.
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
            Command::Serve { kept } => serve(self.socket, kept).await,
            Command::Lookup { service, address } => {
                let directory = Directory::at(self.socket);
                let found = match address {
                    true => directory.lookup(&service.parse::<bertha_core::Addr>()?).await?,
                    false => directory.lookup(&*service).await?,
                };
                show(found.as_ref());
                Ok(())
            }
        }
    }
}

async fn serve(socket: PathBuf, kept: Vec<Kept>) -> Result<(), Error> {
    let rules = kept.into_iter().fold(Rules::new(), |rules, Kept { name, user }| rules.keep(name, user));
    let server = DirectoryServer::listen(socket, rules)?;
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
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
        Some(found) => println!("{} of user {}: {}", found.name, found.user, found.addresses.join(" ")),
        None => println!("not on this machine"),
    }
}
