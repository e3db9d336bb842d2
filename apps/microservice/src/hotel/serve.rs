//! The process of a service.

use super::by_daemon::Daemon;
use super::by_tonic::Grpc;
use super::services::{Geo, Profile, Rate, Search, Service};
use super::way::Way;
use super::works::{Described, Front, Nearest, Priced, Searched};
use super::{Data, Memcached, http};
use bertha_core::Error;
use bertha_program::{cannot_listen, say};
use clap::{Args, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;
use tokio::net::TcpListener;

/// The options of a service.
#[derive(Debug, Clone, Args)]
pub struct ServeOptions {
    /// The service.
    service: Role,
    /// Socket of the daemon of the host, through which services call each other. Without one, they do by gRPC.
    #[arg(long, value_name = "FILE")]
    daemon: Option<PathBuf>,
    /// A service that is called by gRPC, and its address.
    #[arg(long, value_name = "SERVICE=ADDRESS", value_parser = next, conflicts_with = "daemon")]
    next: Vec<(String, SocketAddr)>,
    /// Address at which the front end serves HTTP, or another service gRPC.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    on: SocketAddr,
    /// Address of memcached, for rate and profile. Without one, they look each fact up.
    #[arg(long, value_name = "ADDRESS")]
    cache: Option<SocketAddr>,
    /// The seed of the hotels, one for all services.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
}

fn next(text: &str) -> Result<(String, SocketAddr), String> {
    let parts = text.split_once('=');
    let (service, addr) = parts.ok_or("a service and its address are written as geo=127.0.0.1:4000")?;
    Ok((service.to_owned(), addr.parse().map_err(|error| format!("{addr}: {error}"))?))
}

/// A service, by its part in the hotel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum)]
pub enum Role {
    /// Serves people by HTTP.
    Front,
    /// Asks geo and rate.
    Search,
    /// Knows where hotels are.
    Geo,
    /// Knows prices.
    Rate,
    /// Knows names and addresses.
    Profile,
}

impl ServeOptions {
    /// Serves until an error comes.
    ///
    /// # Errors
    /// Errors of what listens, and the end of the daemon.
    pub async fn serve(self) -> Result<(), Error> {
        match self.daemon.clone() {
            Some(socket) => self.serve_by(Daemon { socket, application: self.service.name().into() }).await,
            None => {
                let (on, next) = (self.on, self.next.iter().cloned().collect());
                self.serve_by(Grpc { on, next }).await
            }
        }
    }

    async fn serve_by(&self, way: impl Way) -> Result<(), Error> {
        let name = self.service.name();
        let data = Data::new(self.seed);
        let cache = self.cache.map(Memcached::new);
        let tell = move |addr: Option<SocketAddr>| match addr {
            Some(addr) => say(format!("{name} serves at {addr}")),
            None => say(format!("{name} serves")),
        };
        match self.service {
            Role::Geo => way.serve::<Geo>(Nearest::new(data), tell).await,
            Role::Rate => way.serve::<Rate>(Priced::new(data, cache), tell).await,
            Role::Profile => way.serve::<Profile>(Described::new(data, cache), tell).await,
            Role::Search => {
                let work = Searched::new(way.find::<Geo>().await?, way.find::<Rate>().await?);
                way.serve::<Search>(work, tell).await
            }
            Role::Front => {
                let front = Front::new(way.find::<Search>().await?, way.find::<Profile>().await?);
                let listener =
                    TcpListener::bind(self.on).await.map_err(|error| cannot_listen(self.on, error))?;
                tell(Some(listener.local_addr()?));
                http::serve(listener, front).await;
                Ok(())
            }
        }
    }
}

impl Role {
    /// All services, each after those it calls.
    pub const ALL: [Self; 5] = [Self::Geo, Self::Rate, Self::Profile, Self::Search, Self::Front];

    /// Returns the name of the service.
    pub fn name(self) -> &'static str {
        match self {
            Self::Front => "front",
            Self::Search => Search::NAME,
            Self::Geo => Geo::NAME,
            Self::Rate => Rate::NAME,
            Self::Profile => Profile::NAME,
        }
    }

    /// Returns the services that it calls.
    pub fn calls(self) -> &'static [Self] {
        match self {
            Self::Front => &[Self::Search, Self::Profile],
            Self::Search => &[Self::Geo, Self::Rate],
            Self::Geo | Self::Rate | Self::Profile => &[],
        }
    }
}
