//! The transports, a line for each.

use crate::peers::{Call, Handler, Serving, connect, serve};
use crate::{Message, Site};
use bertha_chunnels::Serialize;
use bertha_core::{Addr, Error, make_stack, optimize};
use bertha_datapath_kernel::{Tcp, Udp, UnixStream};
use bertha_datapath_shm::{Shm, Waiting};
use bertha_local::MaybeLocal;
use bertha_pass_skip_tls::SkipTlsWhenLocal;
use std::slice::from_ref;

/// The way in which services reach each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Transport {
    /// Datagrams, as they are.
    Udp,
    /// Streams, as they are.
    Tcp,
    /// TLS over TCP.
    Tls,
    /// Unix sockets.
    Unix,
    /// Shared memory.
    Shm,
    /// Shared memory, whose receivers spin.
    ShmSpinning,
    /// TLS, through shared memory between services of a machine and over TCP to others: without the pass.
    TlsMaybeLocal,
    /// TLS as above with the pass: no TLS between services of a machine.
    TlsUnlessLocal,
}

/// Runs one of the two functions over each transport. Their lines differ only in the certificates.
macro_rules! over {
    ($transport:expr, $site:expr, $tls:expr, $run:expr $(, $more:expr)*) => {{
        let serialize = || Serialize::<Message>::new();
        let maybe_local = || MaybeLocal::new($site.directory().clone());
        match $transport {
            Self::Udp => $run(make_stack!(serialize()), Udp::new() $(, $more)*).await,
            Self::Tcp => $run(make_stack!(serialize()), Tcp::new() $(, $more)*).await,
            Self::Tls => $run(make_stack!(serialize(), $tls?), Tcp::new() $(, $more)*).await,
            Self::Unix => $run(make_stack!(serialize()), UnixStream::new() $(, $more)*).await,
            Self::Shm => $run(make_stack!(serialize()), Shm::new() $(, $more)*).await,
            Self::ShmSpinning => {
                $run(make_stack!(serialize()), Shm::new().waiting(Waiting::Spin) $(, $more)*).await
            }
            Self::TlsMaybeLocal => {
                $run(make_stack!(serialize(), $tls?, maybe_local()), Tcp::new() $(, $more)*).await
            }
            Self::TlsUnlessLocal => {
                let stack = make_stack!(serialize(), $tls?, maybe_local());
                let stack = optimize!(stack, SkipTlsWhenLocal accepting (Encrypted));
                $run(stack, Tcp::new() $(, $more)*).await
            }
        }
    }};
}

impl Transport {
    /// Returns true if addresses are paths of sockets.
    pub fn has_paths(self) -> bool {
        matches!(self, Self::Unix | Self::Shm | Self::ShmSpinning)
    }

    /// Connects to the service at `to`.
    ///
    /// # Errors
    /// Errors of connecting.
    pub async fn connect(self, site: &Site, to: Addr) -> Result<Call, Error> {
        over!(self, site, site.client(), connect, to)
    }

    /// Serves at `on` under a name, which is entered in the directory if the transport needs it. A directory that does
    /// not take the name leaves the service to the network.
    ///
    /// # Errors
    /// Errors of listening.
    pub async fn serve(self, site: &Site, name: &str, on: Addr, handler: Handler) -> Result<Serving, Error> {
        let mut serving = over!(self, site, site.server(), serve, on, handler)?;
        if matches!(self, Self::TlsMaybeLocal | Self::TlsUnlessLocal) {
            let registration = site.directory().register(name, from_ref(&serving.addr)).await;
            serving.registration = Some(registration);
        }
        Ok(serving)
    }
}
