use super::*;
use crate::wire::{self, Kind, Offer, Tag};
use bertha_core::guarantee::Reliable;
use bertha_core::{Capability, NumParticipantsAtMost, Picks, Preference, Properties, capability, resolve};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

fn layer(name: &'static str) -> Node {
    Node::Layer(LayerInfo::plain(name, 1))
}

fn tap(name: &'static str) -> Node {
    Node::Layer(LayerInfo::plain(name, 1).one_sided())
}

fn either(first: Vec<Node>, second: Vec<Node>) -> Node {
    Node::Select { branches: [first, second], prefer: 0.into() }
}

fn offered(nodes: &[Node]) -> Vec<OfferedNode> {
    Offer::new(7, nodes).unwrap().nodes().unwrap()
}

fn agree(client: &[Node], server: &[Node]) -> Result<Match, Rejected> {
    find(&offered(client), server)
}

fn names(nodes: &[Node], picks: &[u8]) -> Vec<&'static str> {
    let name = |node: &Node| match node {
        Node::Layer(layer) if !layer.is_one_sided() => Some(layer.full_name()),
        _ => None,
    };
    resolve(nodes, Picks::new(picks)).iter().filter_map(name).collect()
}

#[test]
fn choices_on_either_side_on_both_and_on_none() {
    let plain = [layer("a"), layer("b")];
    let choice = [either(vec![layer("x")], vec![layer("a")]), layer("b")];
    for (client, server) in [(&plain, &plain), (&plain, &choice), (&choice, &plain), (&choice, &choice)] {
        let found = agree(client, server).unwrap();
        assert_eq!(names(client, &found.client_picks), names(server, &found.server_picks));
    }
    assert_eq!(agree(&plain, &choice).unwrap().server_picks, [1]);
    assert_eq!(agree(&choice, &plain).unwrap().client_picks, [1]);
    assert_eq!(agree(&choice, &choice).unwrap().client_picks, [0]);
}

#[test]
fn the_servers_preference_wins_then_the_clients() {
    let ab = [either(vec![layer("a")], vec![layer("b")])];
    let ba = [either(vec![layer("b")], vec![layer("a")])];
    let prefers_b = [Node::Select { branches: [vec![layer("a")], vec![layer("b")]], prefer: 1.into() }];
    assert_eq!(names(&ba, &agree(&ab, &ba).unwrap().server_picks), ["b"]);
    assert_eq!(names(&prefers_b, &agree(&ab, &prefers_b).unwrap().server_picks), ["b"]);
    // Between two ends there are two participants, for ever.
    let condition =
        |participants| Preference::branch(0).only_if(Arc::new(NumParticipantsAtMost(participants)));
    for (participants, preferred) in [(1, "b"), (2, "a")] {
        let branches = [vec![layer("a")], vec![layer("b")]];
        let choice = [Node::Select { branches, prefer: condition(participants) }];
        assert_eq!(names(&choice, &agree(&ab, &choice).unwrap().server_picks), [preferred]);
        let OfferedNode::Select { prefer, .. } = &offered(&choice)[0] else { panic!("no choice") };
        assert_eq!(["a", "b"][usize::from(*prefer)], preferred);
    }
    // Both of the server's ways lead to the same layer, so the client's order decides which of its own is
    // used.
    let client = [either(vec![layer("a"), layer("b")], vec![layer("a")]), either(vec![], vec![layer("b")])];
    assert_eq!(agree(&client, &[layer("a"), layer("b")]).unwrap().client_picks, [0, 0]);
}

#[test]
fn the_same_chunnel_twice_is_two_layers() {
    let twice = [layer("a"), layer("a")];
    assert!(agree(&twice, &twice).is_ok());
    let rejected = agree(&twice, &[layer("a")]).unwrap_err();
    assert_eq!(rejected.reason, "client's a has no counterpart on the server");
    let rejected = agree(&[layer("a")], &twice).unwrap_err();
    assert_eq!(rejected.reason, "server's a has no counterpart on the client");
}

#[test]
fn one_sided_chunnels_take_no_part() {
    let client = [tap("trace"), layer("a"), either(vec![tap("count")], vec![layer("z")])];
    assert_eq!(agree(&client, &[layer("a"), tap("log")]).unwrap().client_picks, [0]);
}

/// A layer that needs no counterpart still gives, withdraws or needs a guarantee.
#[test]
fn guarantees_of_one_sided_chunnels_count() {
    let layer = || LayerInfo::plain("tap", 1).one_sided();
    let floor = Set::of::<Reliable>();
    let found = |info: LayerInfo, floor, transport| {
        find_within(&[], &[Node::Layer(info)], Requirements::new(floor, transport)).is_ok()
    };
    assert!(found(layer().guaranteeing(floor), floor, Properties::DATAGRAM));
    assert!(!found(layer(), floor, Properties::DATAGRAM) && found(layer(), floor, Properties::STREAM));
    assert!(!found(layer().withdrawing(floor), floor, Properties::STREAM));
    assert!(!found(layer().needing(floor), Set::NONE, Properties::DATAGRAM));
    assert!(found(layer().needing(floor), Set::NONE, Properties::STREAM));
}

#[test]
fn versions_and_parameters_must_agree() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Blocks(u32);
    impl Capability for Blocks {
        const ID: &'static str = "test::Blocks";
        fn compatible(&self, other: &Self) -> Result<(), bertha_core::Mismatch> {
            capability::exact(self, other)
        }
    }
    let blocks = |size| [Node::Layer(LayerInfo::with("test::Split", Blocks(size)))];
    assert!(agree(&blocks(512), &blocks(512)).is_ok());
    assert_eq!(
        agree(&blocks(512), &blocks(4096)).unwrap_err().reason,
        "client's Split and server's Split: the server has Blocks(4096), the client Blocks(512)"
    );
    let newer = [Node::Layer(LayerInfo::plain("test::Zip", 2))];
    assert_eq!(
        agree(&newer, &[layer("test::Zip")]).unwrap_err().reason,
        "client's Zip and server's Zip: the server has version 1, the client version 2"
    );
}

#[test]
fn a_refusal_names_the_reason_of_each_alternative_the_closest_first() {
    let client = [
        either(vec![layer("test::Zip"), layer("a")], vec![either(vec![layer("b")], vec![layer("c")])]),
        layer("z"),
    ];
    let server = [layer("test::Zip"), layer("d"), layer("z")];
    assert_eq!(
        agree(&client, &server).unwrap_err().reason,
        "the client has a where the server has d; the client has b where the server has Zip; \
         the client has c where the server has Zip"
    );
    // The names are those of the Chunnels, with their crates where two are equal.
    assert_eq!(
        agree(&[layer("one::Zip")], &[layer("two::Zip")]).unwrap_err().reason,
        "the client has one::Zip where the server has two::Zip"
    );
}

#[test]
fn work_is_bounded_by_the_product_of_the_sizes() {
    const NAMES: [&str; 32] = [
        "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "A", "B", "C", "D",
        "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P",
    ];
    let sixteen: Vec<Node> =
        (0..16).map(|at| either(vec![layer(NAMES[at])], vec![layer(NAMES[16 + at])])).collect();
    assert!(agree(&sixteen, &sixteen).unwrap().steps <= 81);
    // The worst case: everything matches but the last layer, and each choice can go either way.
    let hopeless = |last| {
        let mut nodes: Vec<Node> = (0..16).map(|_| either(vec![layer("a")], vec![layer("a")])).collect();
        nodes.push(layer(last));
        nodes
    };
    let rejected = agree(&hopeless("x"), &hopeless("y")).unwrap_err();
    assert!(rejected.steps < 50 * 50, "{} steps", rejected.steps);
    assert!(rejected.reason.starts_with("the client has x where the server has y"), "{}", rejected.reason);
}

#[test]
fn an_offer_of_sixteen_alternatives_is_small() {
    // Thirty-two Chunnels of one crate, with names as long as ours are.
    let names: Vec<&'static str> =
        (0..32).map(|number| &*format!("bertha-chunnels::Alternative{number:02}").leak()).collect();
    let nodes: Vec<Node> =
        names.chunks(2).map(|pair| either(vec![layer(pair[0])], vec![layer(pair[1])])).collect();
    let offer = Offer::new(u64::MAX, &nodes).unwrap();
    let bytes = wire::encode(Kind::Offer, Tag::of(u64::MAX), &offer).unwrap();
    assert!(bytes.len() <= 1200, "{} bytes", bytes.len());
}

fn tree() -> impl Strategy<Value = Vec<Node>> {
    let leaf = prop_oneof![
        prop::sample::select(vec!["a", "b"]).prop_map(layer),
        prop::sample::select(vec!["t"]).prop_map(tap)
    ];
    let node = leaf.prop_recursive(3, 12, 3, |inner| {
        let branch = || proptest::collection::vec(inner.clone(), 0..3);
        (branch(), branch(), 0..2u8).prop_map(|(first, second, prefer)| Node::Select {
            branches: [first, second],
            prefer: prefer.into(),
        })
    });
    proptest::collection::vec(node, 0..4)
}

/// All ways to pick, as pairs of picks and layers.
fn ways(nodes: &[Node]) -> Vec<Vec<u8>> {
    let choices: usize = nodes.iter().map(Node::selects).sum();
    (0..1u32 << choices).map(|bits| (0..choices).map(|at| (bits >> at & 1) as u8).collect()).collect()
}

proptest! {
    #[test]
    fn finds_a_stack_exactly_if_there_is_one(client in tree(), server in tree()) {
        prop_assume!(client.iter().chain(&server).map(Node::selects).sum::<usize>() <= 12);
        let servers: Vec<_> = ways(&server).iter().map(|picks| names(&server, picks)).collect();
        let possible = ways(&client).iter().any(|picks| servers.contains(&names(&client, picks)));
        match agree(&client, &server) {
            Ok(found) => prop_assert_eq!(
                names(&client, &found.client_picks), names(&server, &found.server_picks)),
            Err(rejected) => prop_assert!(!possible, "{}", rejected.reason),
        }
    }

    #[test]
    fn an_offer_survives_the_wire(client in tree()) {
        let offer = Offer::new(9, &client).unwrap();
        let bytes = wire::encode(Kind::Offer, Tag::of(9), &offer).unwrap();
        prop_assert_eq!(wire::decode::<Offer>(&bytes).unwrap(), offer);
    }
}
