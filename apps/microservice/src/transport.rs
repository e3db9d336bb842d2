//! The transports, a line for each.

use crate::peers::{Call, Handler, Serving, connect, serve};
use crate::{Message, Site};
use bertha_chunnels::Serialize;
use bertha_core::{Addr, Error, make_stack, plain_stack};
use bertha_datapath_kernel::{Tcp, Udp, UnixStream};
use bertha_datapath_shm::{Shm, Waiting};
use bertha_local::MaybeLocal;
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
    /// TLS, through shared memory between services of a machine and over TCP to others: without the passes of this crate.
    TlsMaybeLocal,
    /// TLS as above with the passes: no TLS between services of a machine.
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
                $run(plain_stack!(serialize(), $tls?, maybe_local()), Tcp::new() $(, $more)*).await
            }
            Self::TlsUnlessLocal => {
                $run(make_stack!(serialize(), $tls?, maybe_local()), Tcp::new() $(, $more)*).await
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

#[cfg(test)]
mod tests {
    use super::*;
    use bertha_core::Describe;

    /// Returns the explanation of a stack instead of a connection.
    #[allow(clippy::unused_async, reason = "the lines of all transports await it")]
    async fn explain<S: Describe, D>(stack: S, _: D) -> Result<String, Error> {
        Ok(stack.explain().to_string())
    }

    impl Transport {
        async fn explained(self, site: &Site) -> Result<String, Error> {
            over!(self, site, site.server(), explain)
        }
    }

    #[tokio::test]
    async fn the_passes_of_the_crate_take_tls_away_between_services_of_a_machine() -> Result<(), Error> {
        let folder = tempfile::TempDir::new()?;
        let site = Site::new(folder.path());
        let unless_local = Transport::TlsUnlessLocal.explained(&site).await?;
        let (stack, report) = unless_local.split_once('\n').unwrap_or_default();
        assert_eq!(stack, "Serialize[postcard] / TlsUnlessLocal");
        assert!(report.starts_with("  SkipTlsWhenLocal at src/transport.rs:"), "{unless_local}");
        for plain in [Transport::TlsMaybeLocal, Transport::Tls] {
            let explained = plain.explained(&site).await?;
            assert!(explained.starts_with("Serialize[postcard] / Tls") && !explained.contains("UnlessLocal"));
            assert!(!explained.contains('\n'), "{explained}");
        }
        Ok(())
    }
}
