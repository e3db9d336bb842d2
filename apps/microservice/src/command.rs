//! The command line.

use bertha_core::{Addr, Error};
use bertha_microservice::load::{Load, ask};
use bertha_microservice::{Site, Transport, services};
use clap::{Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// An echo, and a chain of services, over every transport.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Arguments {
    /// The folder with the directory's socket (`bertha-directory --socket FOLDER/directory.sock serve`) and the certificate.
    #[arg(long, default_value = "/run/bertha")]
    folder: PathBuf,
    /// The way in which services reach each other.
    #[arg(long, value_enum, default_value_t = Transport::TlsUnlessLocal)]
    transport: Transport,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs a service until it is interrupted.
    Serve {
        /// Name of the service.
        service: Service,
        /// Address to listen at: 127.0.0.1:4000, or a path as unix:/run/bertha/echo.sock for `unix` and
        /// `shm`.
        #[arg(long)]
        on: Addr,
        /// Address of cart, for front.
        #[arg(long, required_if_eq("service", "front"))]
        cart: Option<Addr>,
        /// Address of price, for front.
        #[arg(long, required_if_eq("service", "front"))]
        price: Option<Addr>,
    },
    /// Asks a service, and shows the times of its answers.
    Load {
        /// Address of the service.
        to: Addr,
        /// Number of connections, made one after another.
        #[arg(long, default_value_t = 200)]
        connections: u64,
        /// Number of requests on each connection.
        #[arg(long, default_value_t = 100)]
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
    pub(crate) async fn execute(self) -> Result<(), Error> {
        let site = Site::new(self.folder);
        let transport = self.transport;
        match self.command {
            Command::Serve { service, on, cart, price } => {
                let (name, handler) = match (service, cart, price) {
                    (Service::Front, Some(cart), Some(price)) => {
                        let cart = transport.connect(&site, cart).await?;
                        let price = transport.connect(&site, price).await?;
                        ("front", services::front(cart, price))
                    }
                    (Service::Cart, ..) => ("cart", services::cart()),
                    (Service::Price, ..) => ("price", services::price()),
                    _ => ("echo", services::echo()),
                };
                let serving = transport.serve(&site, name, on, handler).await?;
                say(&format!("{name} listens at {}", serving.addr));
                std::future::pending::<()>().await;
            }
            Command::Load { to, connections, requests } => {
                let latencies = ask(transport, &site, &to, Load { connections, requests }).await?;
                say(&format!("{} answers: {latencies}", latencies.count()));
            }
        }
        Ok(())
    }
}

#[expect(clippy::print_stdout, reason = "this is the program's output")]
fn say(text: &str) {
    println!("{text}");
}
