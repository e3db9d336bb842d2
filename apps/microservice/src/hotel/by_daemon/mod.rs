//! Services that call each other through the daemons of their hosts.

mod in_heap;

use super::managed::Managed;
use super::messages;
use super::services::{Geo, Next, Profile, Rate, Search, Service, Work, answered};
use super::way::Way;
use bertha_core::{Error, ErrorKind};
use bertha_managed::Failure;
use bertha_managed::application::{Attach, Lent};
use bertha_managed::heap::Heap;
use in_heap::InHeap;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The types of `proto/hotel.proto` in heaps.
#[allow(missing_docs, unreachable_pub, reason = "the schema documents what it needs to")]
#[allow(clippy::wrong_self_convention, reason = "a field is called `from`")]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/hotel.rs"));
}

/// A service that answers calls by its work.
#[derive(Debug)]
pub(super) struct Answers<W>(W);

/// The daemon of a host.
#[derive(Debug)]
pub(super) struct Daemon {
    /// Its socket.
    pub(super) socket: PathBuf,
    /// The name of this application.
    pub(super) application: String,
}

impl Way for Daemon {
    async fn find<S: Managed>(&self) -> Result<impl Next<S>, Error> {
        S::find(&Attach::new(&self.socket, &self.application)).await
    }

    async fn serve<S: Managed>(
        self,
        work: impl Work<S>,
        is_ready: impl FnOnce(Option<SocketAddr>) + Send,
    ) -> Result<(), Error> {
        S::serve(&Attach::new(&self.socket, &self.application), work, || is_ready(None)).await
    }
}

macro_rules! managed {
    ($service:ident, $module:ident, $method:ident, $request:ident, $answer:ident) => {
        impl Managed for $service {
            type Client = generated::$module::Client;

            async fn find(daemon: &Attach) -> Result<Self::Client, Error> {
                let attached = daemon.client(Self::NAME).await?;
                Ok(generated::$module::Client::new(attached))
            }

            async fn serve(
                daemon: &Attach,
                work: impl Work<Self>,
                is_ready: impl FnOnce() + Send,
            ) -> Result<(), Error> {
                let server = daemon.server(Self::NAME).await?;
                is_ready();
                match server.serve(generated::$module::Server(Answers(work))).await {}
            }
        }

        impl Next<$service> for generated::$module::Client {
            async fn call(&self, request: messages::$request) -> Result<messages::$answer, Error> {
                let request = request.write(&self.heap());
                let answer = self.$method(request).await.map_err(failed)?;
                Ok(messages::$answer::read(&answer))
            }
        }

        impl<W: Work<$service>> generated::$module::Handler for Answers<W> {
            async fn $method(
                &self,
                request: Lent<generated::$request>,
                heap: &Heap,
            ) -> Result<generated::$answer, Failure> {
                let read = messages::$request::read(&request);
                // The daemon gets its memory back before the work.
                drop(request);
                let answer = answered(&self.0, read).await;
                answer.map(|answer| answer.write(heap)).map_err(|error| Failure::new(error.to_string()))
            }
        }
    };
}

managed!(Geo, geo, near, Place, Hotels);
managed!(Rate, rate, plans, Stay, PlanList);
managed!(Search, search, find, Query, Hotels);
managed!(Profile, profile, describe, Names, Descriptions);

#[cold]
fn failed(failure: Failure) -> Error {
    Error::new(ErrorKind::Io, "a call through the daemon failed").because(failure)
}
