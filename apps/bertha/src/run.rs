//! `bertha run`: a program whose sockets may go through memory.

use crate::run_stack::StackOptions;
use bertha::{Error, ErrorKind};
use bertha_program::Termination;
use clap::{Args, ValueEnum};
use std::env::current_exe;
use std::ffi::{OsStr, OsString};
use std::fmt::{self, Display};
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::str::FromStr;

/// The shared library that stands before libc.
const LIBRARY: &str = "libbertha_sockets.so";

/// Runs a program that knows nothing of Bertha: its TCP connections to others that run so, on this machine, go through memory that the
/// two share, and everything else through the kernel as before. Without a daemon, everything does. With a stack or a device, its TCP
/// connections are carried by that instead, and without a daemon they fail.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The socket of `bertha-socketd`.
    #[arg(long, value_name = "FILE", default_value = "/run/bertha/sockets.sock")]
    socket: PathBuf,
    /// The shared library, which by default lies beside this program, or in `../lib`.
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// Lets the program with this file name alone use memory, a stack or a device, and not those that it starts; or several, by several options.
    #[arg(long = "program", value_name = "NAME")]
    programs: Vec<String>,
    /// Lets sockets of this protocol alone use memory, a stack or a device; UDP uses a device alone.
    #[arg(long = "protocol", value_name = "PROTOCOL")]
    protocols: Vec<Protocol>,
    /// Lets connections with this port, at either end, alone use memory, a stack or a device; or several.
    #[arg(long = "port", value_name = "PORT")]
    ports: Vec<u16>,
    /// Lets connections with this address, at either end, alone use memory, a stack or a device, or with those that begin with these bits; or several.
    #[arg(long = "address", value_name = "PREFIX")]
    addresses: Vec<Prefix>,
    /// Lets connections of sockets that are bound to this interface (`SO_BINDTODEVICE`) alone use memory, a stack or a device; or several.
    #[arg(long = "interface", value_name = "NAME")]
    interfaces: Vec<String>,
    #[command(flatten)]
    stack: StackOptions,
    /// The program and its arguments.
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

impl Run {
    /// Becomes the program. Returns only if that fails.
    pub(crate) fn execute(self, termination: &Termination) -> Result<(), Error> {
        let library = self.library()?;
        let Some((program, arguments)) = self.command.split_first() else {
            return Err(Error::new(ErrorKind::Invalid, "no program is named"));
        };
        let mut command = Command::new(program);
        command.args(arguments).env("BERTHA_SOCKETS", std::path::absolute(&self.socket)?);
        command.env("LD_PRELOAD", preloaded(&library));
        rule(&mut command, "BERTHA_SOCKETS_PROGRAMS", &self.programs);
        rule(&mut command, "BERTHA_SOCKETS_PROTOCOLS", &self.protocols);
        rule(&mut command, "BERTHA_SOCKETS_PORTS", &self.ports);
        rule(&mut command, "BERTHA_SOCKETS_ADDRESSES", &self.addresses);
        rule(&mut command, "BERTHA_SOCKETS_INTERFACES", &self.interfaces);
        match self.stack.settings(&self.socket)? {
            Some(settings) => command.env("BERTHA_SOCKETS_STACK", settings),
            None => command.env_remove("BERTHA_SOCKETS_STACK"),
        };
        termination.give_back()?;
        let error = command.exec();
        Err(Error::of_file(format_args!("cannot run {}", program.display()), error))
    }

    fn library(&self) -> Result<PathBuf, Error> {
        let found = match &self.library {
            Some(library) => Some(std::path::absolute(library)?),
            None => {
                let folder = current_exe()?.parent().map(PathBuf::from).unwrap_or_default();
                [folder.join(LIBRARY), folder.join("../lib").join(LIBRARY)]
                    .into_iter()
                    .find(|path| path.is_file())
            }
        };
        // The loader goes on without a library that is not there, and nobody would notice.
        found.filter(|path| path.is_file()).ok_or_else(|| {
            Error::new(ErrorKind::Invalid, format!("{LIBRARY} is not there; `--library` says where it is"))
        })
    }
}

/// Returns the libraries to load: this one before those that the environment names.
fn preloaded(library: &PathBuf) -> OsString {
    let mut libraries = OsString::from(library);
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        libraries.push(OsStr::new(":"));
        libraries.push(others);
    }
    libraries
}

/// A protocol of sockets.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Protocol {
    Tcp,
    Udp,
}

impl Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        })
    }
}

/// The beginning of addresses, or one address.
#[derive(Debug, Clone)]
struct Prefix(String);

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (ip, bits) = text.split_once('/').unwrap_or((text, "0"));
        let ip: IpAddr = ip.parse().map_err(|_| format!("`{ip}` is no IP address"))?;
        let whole = if ip.is_ipv4() { 32 } else { 128 };
        match bits.parse() {
            Ok(bits) if (0..=whole).contains(&bits) => Ok(Self(text.to_owned())),
            _ => Err(format!("an address of this kind has at most {whole} bits, and not {bits}")),
        }
    }
}

impl Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn rule(command: &mut Command, variable: &str, entries: &[impl Display]) {
    if entries.is_empty() {
        // A rule of the environment is that of another run.
        command.env_remove(variable);
        return;
    }
    let entries: Vec<_> = entries.iter().map(ToString::to_string).collect();
    command.env(variable, entries.join(","));
}
