//! Changes that would lose a guarantee of the stack in use.

use super::*;
use crate::wire::OfferedNode;
use bertha_core::Properties;
use bertha_core::guarantee::{Encrypted, Guarantees, Reliable};

fn layer<G: Guarantees>(name: &'static str) -> Vec<Node> {
    vec![Node::Layer(LayerInfo::plain(name, 1).guaranteeing(Set::of::<G>()))]
}

fn select(first: Vec<Node>, second: Vec<Node>) -> Node {
    Node::Select { branches: [first, second], prefer: 0.into() }
}

/// Returns stacks that are encrypted, in use, or not; then two stacks that are neither.
fn stack() -> Vec<Node> {
    vec![
        select(layer::<(Encrypted, Reliable)>("test::Tls"), layer::<()>("test::Plain")),
        select(layer::<()>("test::A"), layer::<()>("test::B")),
    ]
}

fn end(nodes: Vec<Node>, may_lose: Set) -> PeerAgreement {
    let terms = ChangeTerms {
        id: 7,
        role: Role::Server,
        nodes,
        requirements: Requirements::new(Set::NONE, Properties::DATAGRAM),
        may_lose,
        proposal_timeout: Duration::from_secs(10),
        repeat_after: Duration::from_millis(100),
    };
    PeerAgreement::new(terms, vec![0, 0])
}

/// Returns the reply to a proposal of `picks`, by an end whose changes may lose these guarantees.
fn reply(may_lose: Set, picks: &[u8], offers: impl Fn(&[Node]) -> Vec<Node>) -> UpgradeStep {
    let (mut end, now) = (end(stack(), may_lose), Instant::now());
    let wanted = Pick::alternative(picks[0].into()).and(1, picks[1].into());
    let offer = Offer::new(7, &offers(&wanted.preferred(&stack(), &[0, 0]).unwrap())).unwrap();
    end.on_message(now, Upgrade { id: 7, round: 1, step: UpgradeStep::Propose { offer } });
    let reply = end.poll_transmit(now).unwrap().step;
    let is_staged = matches!(end.handover().poll_step(), Some(Step::Stage(1)));
    assert_eq!(is_staged, matches!(reply, UpgradeStep::Accept { .. }), "{reply:?}");
    reply
}

#[test]
fn a_peer_takes_no_guarantee_that_this_end_keeps() {
    let plain_alone = |_: &[Node]| [layer::<()>("test::Plain"), layer::<()>("test::A")].concat();
    for offered in [&plain_alone as &dyn Fn(&[Node]) -> Vec<Node>, &<[Node]>::to_vec] {
        let UpgradeStep::Decline { next: 0, text } = reply(Set::of::<Reliable>(), &[1, 0], offered) else {
            panic!("taken")
        };
        assert!(text.contains("guarantees that this end keeps: encrypted;"), "{text}");
        // The end may lose both guarantees.
        let taken = reply(Set::of::<(Encrypted, Reliable)>(), &[1, 0], offered);
        assert!(
            matches!(&taken, UpgradeStep::Accept { own_picks, .. } if own_picks[..] == [1, 0]),
            "{taken:?}"
        );
    }
    // Another alternative elsewhere loses no guarantee.
    let taken = reply(Set::NONE, &[0, 1], <[Node]>::to_vec);
    assert!(matches!(&taken, UpgradeStep::Accept { own_picks, .. } if own_picks[..] == [0, 1]), "{taken:?}");
}

#[test]
fn this_end_proposes_no_loss_by_mistake() {
    let now = Instant::now();
    let mut careless = end(stack(), Set::of::<Reliable>());
    careless.on_request(now, Pick::alternative(1));
    let refused = careless.poll_report().unwrap().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Refused);
    assert!(refused.context().contains("lose guarantees of the stack in use, encrypted;"), "{refused}");
    assert!(careless.poll_transmit(now).is_none() && careless.handover().poll_step().is_none());

    careless.on_request(now, Pick::alternative(1).losing(Set::of::<Encrypted>()));
    assert!(matches!(careless.poll_transmit(now).unwrap().step, UpgradeStep::Propose { .. }));
    careless.on_message(now, accept(&[1, 0]));
    assert_eq!(careless.agreed().unwrap().picks, [1, 0]);
}

fn accept(picks: &[u8]) -> Upgrade {
    let step = UpgradeStep::Accept {
        is_ready: false,
        proposer_picks: picks.to_vec(),
        own_picks: vec![1, 1],
        reasons: String::new(),
        capabilities: Vec::new(),
    };
    Upgrade { id: 7, round: 1, step }
}

/// An alternative that would lose a guarantee is not offered, so an answer that picks it is no answer to this
/// offer.
#[test]
fn the_answer_to_a_proposal_takes_no_guarantee_either() {
    let now = Instant::now();
    for picks in [&[1, 1][..], &[1], &[0]] {
        let mut end = end(stack(), Set::NONE);
        end.on_request(now, Pick::alternative(1).and(0, 0));
        assert!(end.poll_report().is_some(), "in use already");
        end.on_request(now, Pick::alternative(0).and(1, 1));
        let Some(Upgrade { step: UpgradeStep::Propose { offer }, .. }) = end.poll_transmit(now) else {
            panic!("not proposed")
        };
        let offered = offer.nodes().unwrap();
        assert!(matches!(offered[..], [OfferedNode::Layer(_), OfferedNode::Select { .. }]), "{offered:?}");
        end.on_message(now, accept(picks));
        match picks {
            [1] => assert_eq!(end.agreed().unwrap().picks, [0, 1]),
            _ => assert_eq!(end.poll_report().unwrap().unwrap_err().kind(), ErrorKind::Refused),
        }
    }
}

/// An alternative within the wanted alternative counts, whichever comes first.
#[test]
fn an_alternative_that_keeps_what_is_in_use_is_found() {
    let (now, plain) = (Instant::now(), || layer::<()>("test::Plain"));
    let nodes = vec![select(
        layer::<Encrypted>("test::Tls"),
        [plain(), vec![select(plain(), layer::<Encrypted>("test::Noise"))]].concat(),
    )];
    let mut proposer = end(nodes.clone(), Set::NONE);
    proposer.on_request(now, Pick::alternative(1));
    let proposal = proposer.poll_transmit(now).unwrap();
    let mut other = end(nodes, Set::NONE);
    other.on_message(now, proposal);
    let accepted = other.poll_transmit(now).unwrap();
    proposer.on_message(now, accepted);
    assert_eq!(
        (&proposer.agreed().unwrap().picks[..], &other.agreed().unwrap().picks[..]),
        (&[1, 1][..], &[1, 1][..])
    );
    assert_eq!(proposer.agreed().unwrap().transcript, other.agreed().unwrap().transcript);
}
