//! The events of changes of stacks.

use crate::lines::Lines;
use crate::refusals::{Fails, ask};
use crate::scene::{A, B, C, simulate};
use crate::traffic::connect;
use bertha_core::{Connection, Role, make_stack, select};
use bertha_datapath_sim::Network;
use bertha_negotiation::{Negotiate, Pick, Settings};
use futures_util::future::select;
use std::pin::pin;
use std::time::Duration;

const BEGINS: &str = "a change of the stack begins";
const CHANGED: &str = "changed the stack";
const REFUSED: &str = "a change of the stack was refused, or failed";
const GIVEN_UP: &str = "a change of the stack was given up";

/// The addresses of the peers as the client and as the server see them.
const PEERS: [&str; 2] = ["peer=10.0.0.2:", "peer=10.0.0.1:"];

/// Returns the numbers of such events at the client and at the server.
fn told(lines: &Lines, texts: &[&str]) -> [usize; 2] {
    PEERS.map(|peer| lines.with(&[&["DEBUG", "bertha::negotiation: ", peer], texts].concat()).len())
}

#[test]
fn both_ends_tell_the_begin_and_the_end_of_a_change() {
    let (lines, _guard) = Lines::capture();
    simulate(1, async |network: Network| {
        let stack = || make_stack!(select!(A, B)).upgradable();
        let (client, server) = connect(&network, stack(), stack(), Settings::default()).await;
        assert_eq!((told(&lines, &[BEGINS]), told(&lines, &[CHANGED])), ([0, 0], [0, 0]));
        let receiving = futures_util::future::join(client.recv(), server.recv());
        let upgrade = async {
            client.upgrade(Pick::alternative(1)).await.unwrap();
            network.runtime().sleep(Duration::from_secs(1)).await;
        };
        select(pin!(upgrade), pin!(receiving)).await;
    });
    assert_eq!(told(&lines, &[BEGINS, "epoch=1"]), [1, 1]);
    let [client, server] = ["B, agreed as client, round 1", "B, agreed as server, round 1"]
        .map(|agreement| told(&lines, &[CHANGED, "epoch=1", &format!("agreement={agreement}")]));
    assert_eq!((client, server), ([1, 0], [0, 1]), "{:#?}", lines.with(&[CHANGED]));
    assert_eq!((told(&lines, &[REFUSED]), told(&lines, &[GIVEN_UP])), ([0, 0], [0, 0]));
}

#[test]
fn the_end_that_asked_tells_the_reason_of_a_refusal() {
    let (lines, _guard) = Lines::capture();
    simulate(2, async |network: Network| {
        let (here, there) =
            (make_stack!(select!(A, B, C)).upgradable(), make_stack!(select!(A, C)).upgradable());
        let (client, server) = connect(&network, here, there, Settings::default()).await;
        ask(client.upgrade(Pick::alternative(1)), server.recv()).await;
    });
    let refused = told(&lines, &[REFUSED, "error=", "the client has B where the server has A"]);
    assert_eq!(refused, [1, 0], "{:#?}", lines.with(&[REFUSED]));
    assert_eq!(told(&lines, &[CHANGED]), [0, 0]);
}

#[test]
fn a_stack_that_does_not_start_is_given_up_at_both_ends() {
    let (lines, _guard) = Lines::capture();
    simulate(3, async |network: Network| {
        let stack = || make_stack!(select!(A, make_stack!(Fails(Role::Server)))).upgradable();
        let (client, server) = connect(&network, stack(), stack(), Settings::default()).await;
        ask(client.upgrade(Pick::alternative(1)), server.recv()).await;
        let late = network.runtime().sleep(Duration::from_secs(1));
        select(pin!(late), pin!(futures_util::future::join(client.recv(), server.recv()))).await;
    });
    assert_eq!(told(&lines, &[BEGINS]), [1, 1]);
    assert_eq!(told(&lines, &[GIVEN_UP]), [1, 1]);
    assert_eq!(told(&lines, &[REFUSED, "error=", "no licence left"])[0], 1, "{:#?}", lines.with(&[REFUSED]));
    assert_eq!(told(&lines, &[CHANGED]), [0, 0]);
}
