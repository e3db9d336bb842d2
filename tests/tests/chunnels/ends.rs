//! The two ends of a connection over the simulated network, for tests of single Chunnels.

use bertha_core::Describe;
use bertha_datapath_sim::{Network, SimDatapath};
use bertha_negotiation::{Negotiate, Negotiated, Runs};
use futures_util::future::join;

pub(crate) const CLIENT: [u8; 4] = [10, 0, 0, 1];
pub(crate) const SERVER: [u8; 4] = [10, 0, 0, 2];

type Out<S> = Negotiated<<SimDatapath as Runs<S>>::Out>;

/// Connects a client to a server, both with this stack.
pub(crate) async fn connected<S>(network: &Network, stack: S) -> (Out<S>, Out<S>)
where
    S: Describe + Clone + Send + Sync + 'static,
    SimDatapath: Runs<S>,
{
    let mut incoming = stack.clone().listen(network.host(SERVER), (SERVER, 0)).await.unwrap();
    let to = incoming.local_addr();
    let connecting = stack.connect(network.host(CLIENT), to).into_future();
    let (client, server) = join(connecting, incoming.next()).await;
    (client.unwrap(), server.unwrap())
}
