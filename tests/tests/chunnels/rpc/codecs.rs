//! Ends whose calls have different codecs.

use bertha_chunnels::rpc::Bincode;
use bertha_chunnels::{Reliable, Rpc};
use bertha_core::{ErrorKind, Runtime, make_stack};
use bertha_datapath_sim::Sim;
use bertha_negotiation::Negotiate;

#[test]
fn ends_with_different_codecs_do_not_agree() {
    let mut sim = Sim::new(1);
    let network = sim.network().clone();
    sim.run(async {
        let server = ([10, 0, 0, 2], 4242);
        let stack = |rpc| make_stack!(rpc, Reliable::new());
        let codec: Bincode = Bincode;
        let binary = || Rpc::new().codec(&codec);
        let mut incoming = stack(binary()).listen(network.host(server.0), server).await.unwrap();
        let serving = async move {
            let mut accepted = Vec::new();
            loop {
                accepted.push(incoming.next_or_refusal().await);
            }
        };
        let _server = network.runtime().spawn(serving);
        let client = network.host([10, 0, 0, 1]);
        let refused = stack(Rpc::new()).connect(client.clone(), server).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Refused);
        assert!(refused.to_string().contains("codec of calls"), "{refused}");
        stack(binary()).connect(client, server).await.unwrap();
    });
}
