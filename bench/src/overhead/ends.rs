//! Connected ends for calls: an end with a stack, and an end without.

use super::failed;
use crate::Error;
use bertha_core::{Addr, Buf, Chunnel, Connection, Datapath, Listener, Wrap, make_stack};
use bertha_datapath_kernel::{TokioRuntime, Udp, UdpConnection};
use bertha_datapath_sim::{PairConnection, pair};
use bertha_negotiation::{Negotiate, Negotiated, Runs, Settings};
use std::net::Ipv4Addr;
use std::time::Duration;

/// An end in memory. Its runtime is only there for Chunnels that need it.
pub(crate) type Memory = PairConnection<TokioRuntime>;

/// Returns both ends in memory.
pub(crate) async fn in_memory<S>(stack: S) -> Result<(S::Connection, Memory), Error>
where
    S: Chunnel<Memory>,
{
    let (end, bare) = pair(TokioRuntime);
    Ok((stack.wrap(end).await.map_err(failed)?, bare))
}

/// Returns both ends over UDP, which the first message introduces to each other.
pub(super) async fn over_udp<S>(stack: S) -> Result<(S::Connection, UdpConnection), Error>
where
    S: Chunnel<UdpConnection, Connection: Connection<Data = Buf>>,
{
    let connected = async {
        let listener = Udp::new().listen(any_port()).await?;
        let end = stack.wrap(Udp::new().connect(listener.local_addr()).await?).await?;
        end.send(Buf::copy_of(b"hello", 0)?).await?;
        let bare = listener.accept().await?;
        bare.recv().await?;
        Ok((end, bare))
    };
    connected.await.map_err(failed)
}

/// Returns both ends over UDP, after their agreement.
pub(crate) async fn over_negotiated_udp<S>(
    stack: S,
) -> Result<(Negotiated<<Udp as Runs<S>>::Out>, Negotiated<impl Connection<Data = Buf> + use<S>>), Error>
where
    S: Negotiate,
    Udp: Runs<S, Out: Connection<Data = Buf>>,
{
    // Keep-alive messages would be counted as allocations of some case.
    let mut settings = Settings::default();
    settings.idle_timeout = Duration::from_secs(3600);
    let connected = async {
        let mut incoming = make_stack!().listen(Udp::new(), any_port()).settings(settings.clone()).await?;
        let server = incoming.local_addr();
        let (end, bare) = tokio::join!(
            stack.connect(Udp::new(), server).settings(settings.clone()),
            incoming.next_or_refusal()
        );
        let bare = bare.transpose()?.ok_or_else(|| {
            bertha_core::Error::new(bertha_core::ErrorKind::Closed, "the listener accepted no client")
        })?;
        Ok((end?, bare))
    };
    connected.await.map_err(failed)
}

fn any_port() -> Addr {
    (Ipv4Addr::LOCALHOST, 0).into()
}
