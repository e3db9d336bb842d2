//! The command line.

use bertha_core::{Addr, Error};
use bertha_microservice::load::{Load, ask};
use bertha_microservice::{Site, Transport, services};
use bertha_program::{Termination, exposure, say};
use clap::{Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// An echo, and a chain of services, over every transport.
#[derive(Debug, Parser)]
#[command(name = "bertha-microservice", version)]
pub(crate) struct Arguments {
    /// The folder with the directory's socket (`bertha-directory --socket FOLDER/directory.sock serve`) and the certificate.
    #[arg(long, value_name = "FOLDER", default_value = "/run/bertha")]
    folder: PathBuf,
    /// The way in which services reach each other.
    #[arg(long, value_enum, default_value_t = Transport::TlsUnlessLocal)]
    transport: Transport,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs a service until SIGINT or SIGTERM comes.
    Serve {
        /// Name of the service.
        service: Service,
        /// Address to listen at: 127.0.0.1:4000, or a path as unix:/run/bertha/echo.sock for `unix` and
        /// `shm`.
        #[arg(long, value_name = "ADDRESS")]
        on: Addr,
        /// Address of cart, for front.
        #[arg(long, value_name = "ADDRESS", required_if_eq("service", "front"))]
        cart: Option<Addr>,
        /// Address of price, for front.
        #[arg(long, value_name = "ADDRESS", required_if_eq("service", "front"))]
        price: Option<Addr>,
    },
    /// Asks a service, and shows the times of its answers.
    Load {
        /// Address of the service.
        #[arg(value_name = "ADDRESS")]
        to: Addr,
        /// Number of connections, made one after another.
        #[arg(long, value_name = "CONNECTIONS", default_value_t = 200)]
        connections: u64,
        /// Number of requests on each connection.
        #[arg(long, value_name = "COUNT", default_value_t = 100)]
        requests: u64,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Service {
    Echo,
    Cart,
    Price,
    Front,
}

impl Arguments {
    pub(crate) async fn execute(self, termination: &Termination) -> Result<(), Error> {
        let site = Site::new(self.folder);
        let transport = self.transport;
        match self.command {
            Command::Serve { service, on, cart, price } => {
                let (name, handler) = match (service, cart, price) {
                    (Service::Front, Some(cart), Some(price)) => {
                        let cart = termination.work(transport.connect(&site, cart)).await?;
                        let price = termination.work(transport.connect(&site, price)).await?;
                        ("front", services::front(cart, price))
                    }
                    (Service::Cart, ..) => ("cart", services::cart()),
                    (Service::Price, ..) => ("price", services::price()),
                    _ => ("echo", services::echo()),
                };
                exposure::warn_of_address(&on);
                let serving = termination.work(transport.serve(&site, name, on, handler)).await?;
                say(format!("{name} listens at {}", serving.addr));
                termination.wait().await;
                serving.close().await;
            }
            Command::Load { to, connections, requests } => {
                let asking = ask(transport, &site, &to, Load { connections, requests });
                let latencies = termination.work(asking).await?;
                say(format!("{} answers: {latencies}", latencies.count()));
            }
        }
        Ok(())
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
