//! `bertha rpcd`: orders to the daemon of typed calls.

use crate::output;
use bertha::{Error, ErrorKind};
use bertha_managed::Order;
use bertha_program::Termination;
use clap::{Args, Subcommand};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Changes the policies on calls that `bertha-rpcd` passes on, while calls flow. The user has to be that of the daemon, or root.
#[derive(Debug, Args)]
pub(crate) struct Rpcd {
    /// The socket at which applications attach to the daemon.
    #[arg(long, value_name = "FILE", default_value = "/run/bertha/rpcd.sock")]
    socket: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Lists services, with their servers or the peers of their routes, the number of their callers, and their engines; and libraries of engines.
    List,
    /// Has the daemon read the schema of services before their applications start, and keep it. Prints each service with the hash of its schema.
    Bind {
        /// The descriptor set, as `protoc --include_imports --descriptor_set_out=FILE` writes it.
        #[arg(value_name = "FILE")]
        path: PathBuf,
    },
    /// Has the daemon open a library with a kind of engine, or with another version of one, which engines to come are of. Root or the
    /// daemon's user has to own the file, and nobody else may be able to write it.
    Load {
        /// The library.
        #[arg(value_name = "FILE")]
        path: PathBuf,
    },
    /// Closes the library of a kind of engine, which no service may have.
    Unload {
        /// The kind.
        #[arg(value_name = "NAME")]
        kind: String,
    },
    /// Puts the newest version of its kind in the place of an engine, with its state and the calls that it holds.
    Upgrade {
        /// The service.
        service: String,
        /// The name of the engine.
        name: String,
        /// The kind of the engine, which is the engine's name by default.
        #[arg(value_name = "NAME")]
        kind: Option<String>,
    },
    /// Lets the calls of a service pass another engine, behind the others.
    Add {
        /// The service.
        service: String,
        /// The kind of the engine: acl, metrics, null, qos, quota, rate-limit or trace, or one that was loaded.
        #[arg(value_name = "NAME")]
        kind: String,
        /// The settings of the engine, as in per-second=100.
        #[arg(value_name = "NAME=VALUE")]
        settings: Vec<String>,
        /// The name of the engine, which is its kind by default.
        #[arg(long = "as", value_name = "NAME")]
        name: Option<String>,
    },
    /// Changes settings of an engine. Those that are not named stay.
    Configure {
        /// The service.
        service: String,
        /// The name of the engine.
        name: String,
        /// The settings that change.
        #[arg(value_name = "NAME=VALUE", required = true)]
        settings: Vec<String>,
    },
    /// Removes an engine. The calls that it held go on before later ones.
    Remove {
        /// The service.
        service: String,
        /// The name of the engine.
        name: String,
    },
    /// Leads the calls of a service to servers of other machines, unless an application of this machine serves it.
    Route {
        /// The service.
        service: String,
        /// The address of the daemon, or grpc:ADDRESS for a server of gRPC, or grpcs:ADDRESS by TLS; several, with commas between them, share
        /// the calls. Without one, calls go nowhere.
        #[arg(value_name = "ADDRESS")]
        to: Option<String>,
    },
    /// Sends large arguments and results of a service's calls to other daemons in another way, from the next message on.
    Send {
        /// The service.
        service: String,
        /// The way: writev, by a system call for a message; write, by a system call for each of its parts; or copy, in memory of the daemon.
        #[arg(value_name = "NAME")]
        by: String,
    },
}

impl Rpcd {
    pub(crate) async fn execute(self, termination: &Termination) -> Result<(), Error> {
        termination.work(self.run()).await
    }

    async fn run(self) -> Result<(), Error> {
        let (order, content) = self.command.order()?;
        let answer = order.give_with(&self.socket, &content).await?;
        match order {
            Order::List => tables(&answer),
            Order::Bind { .. } => {
                table("service\tschema\tmethods\tmessages", &answer.lines().collect::<Vec<_>>())
            }
            _ => Ok(()),
        }
    }
}

impl Command {
    /// Returns the order, and the bytes that follow it.
    fn order(self) -> Result<(Order, Vec<u8>), Error> {
        let order = match self {
            Self::List => Order::List,
            Self::Bind { path } => {
                let descriptors = read(&path)
                    .map_err(|error| Error::of_file(format_args!("cannot read {}", path.display()), error))?;
                let bytes = u32::try_from(descriptors.len()).unwrap_or(u32::MAX);
                return Ok((Order::Bind { bytes }, descriptors));
            }
            Self::Load { path } => {
                let path = std::path::absolute(path)?.into_os_string().into_string();
                let wrong = |_| Error::new(ErrorKind::Invalid, "the path of a library has to be UTF-8");
                Order::Load { path: path.map_err(wrong)? }
            }
            Self::Unload { kind } => Order::Unload { kind },
            Self::Upgrade { service, name, kind } => {
                let kind = kind.unwrap_or_else(|| name.clone());
                Order::Upgrade { service, name, kind }
            }
            Self::Add { service, kind, settings, name } => {
                let name = name.unwrap_or_else(|| kind.clone());
                Order::Add { service, name, kind, settings: settings.join(" ") }
            }
            Self::Configure { service, name, settings } => {
                Order::Configure { service, name, settings: settings.join(" ") }
            }
            Self::Remove { service, name } => Order::Remove { service, name },
            Self::Route { service, to } => Order::Route { service, to: to.unwrap_or_default() },
            Self::Send { service, by } => Order::Send { service, by },
        };
        Ok((order, Vec::new()))
    }
}

/// Reads a file as far as the order takes it: a byte more shows that it is too long. A pipe, which may never have an end, is refused.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut content = Vec::new();
    File::open(path)?.take(Order::LONGEST_SCHEMA as u64 + 1).read_to_end(&mut content)?;
    Ok(content)
}

/// Prints the daemon's lines: those about services, and those about libraries behind an empty one.
fn tables(lines: &str) -> Result<(), Error> {
    let mut lines = lines.lines();
    let services: Vec<_> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    table("service\tserver\tcallers\tengines", &services)?;
    let libraries: Vec<_> = lines.collect();
    if libraries.is_empty() {
        return Ok(());
    }
    output::line("")?;
    table("kind\tlibrary", &libraries)
}

/// Prints lines below a head, with columns of equal widths but the last.
pub(crate) fn table(head: &str, lines: &[&str]) -> Result<(), Error> {
    let rows: Vec<Vec<&str>> =
        [&head].into_iter().chain(lines).map(|line| line.split('\t').collect()).collect();
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let columns = head.split('\t').count();
    let widths: Vec<_> = (0..columns - 1).map(|column| width(column).unwrap_or(0)).collect();
    for row in &rows {
        let cells = row.iter().enumerate().map(|(place, cell)| match widths.get(place) {
            Some(width) => format!("{cell:width$}  "),
            None => (*cell).to_owned(),
        });
        output::line(cells.collect::<String>().trim_end())?;
    }
    Ok(())
}
