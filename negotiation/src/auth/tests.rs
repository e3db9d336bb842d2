use super::*;
use crate::wire::{self, Answer, Close, HEADER, Kind, Offer, Refusal, RefusalKind, Tag, Unreadable};
use bertha_core::{LayerInfo, Node};

const ID: u64 = 0x1122_3344_5566_7788;

fn shared(byte: u8) -> Credentials {
    Credentials::shared(SharedKey::new([byte; 32]))
}

fn key(byte: u8) -> IdentityKey {
    IdentityKey::from_seed([byte; 32])
}

/// All ways to go together: client and server.
fn pairs() -> Vec<(Credentials, Credentials)> {
    let mutual = |credentials: Credentials, own, other: u8| {
        credentials.identity(key(own)).trusting([key(other).public()])
    };
    vec![
        (shared(1), shared(1)),
        (Credentials::default().trusting([key(2).public()]), Credentials::default().identity(key(2))),
        (mutual(Credentials::default(), 1, 2), mutual(Credentials::default(), 2, 1)),
        (mutual(shared(1), 1, 2), mutual(shared(1), 2, 1)),
    ]
}

fn offer(credentials: &Credentials) -> Offering {
    let nodes = [Node::Layer(LayerInfo::plain("test::Zip", 3))];
    let mut dice = 0;
    let random = || {
        dice += 1;
        dice
    };
    {
        let offer = Offer::new(ID, &nodes).unwrap();
        Offering::new((&offer, &offer.stack().unwrap()), credentials, random).unwrap()
    }
}

fn answer() -> Answer {
    Answer {
        id: ID,
        client_picks: vec![],
        server_picks: vec![0],
        idle_ms: 30_000,
        confirm: Some(5),
        early: 0,
        stack: "Zip".into(),
        reasons: String::new(),
        capabilities: Vec::new(),
    }
}

/// Offer, answer, and both sessions.
fn agree((at_client, at_server): &(Credentials, Credentials)) -> (Offering, Vec<u8>, Session, Session) {
    let offering = offer(at_client);
    let Ok((read, answering)) =
        Answering::open(at_server, offering.message(), offer_hash(offering.message()))
    else {
        panic!("not opened")
    };
    assert_eq!(read.id, ID);
    let fresh = Fresh::draw(|| 77);
    let (reply, server) = answering.answer(&answer(), Some(&fresh), [9; MAC]).unwrap();
    let (read, client) = offering.answer(&reply).unwrap();
    assert_eq!(read, answer());
    assert_eq!(client.transcript(), server.transcript());
    (offering, reply, client, server)
}

/// Every message that differs in one bit, with its check put right.
fn altered(message: &[u8]) -> impl Iterator<Item = (usize, Vec<u8>)> {
    (0..(message.len() - 4) * 8).map(|bit| {
        let mut altered = message[..message.len() - 4].to_vec();
        altered[bit / 8] ^= 1 << (bit % 8);
        (bit, wire::checked(altered))
    })
}

#[test]
fn no_bit_of_an_offer_or_its_answer_can_be_altered() {
    for pair in pairs() {
        let (offering, reply, client, _) = agree(&pair);
        for (bit, altered) in altered(&reply) {
            assert!(offering.answer(&altered).is_err(), "bit {bit} of the answer");
        }
        // With a shared key or a client's signature the server notices, else the client does by the answer.
        for (bit, altered) in altered(offering.message()) {
            let Ok((_, answering)) = Answering::open(&pair.1, &altered, offer_hash(&altered)) else {
                continue;
            };
            let Some((reply, server)) = answering.answer(&answer(), Some(&Fresh::draw(|| 77)), [9; MAC])
            else {
                continue;
            };
            assert!(pair.1 == pairs()[1].1, "bit {bit} of the offer");
            assert!(offering.answer(&reply).is_err(), "bit {bit} of the offer");
            assert_ne!(client.transcript(), server.transcript());
        }
    }
}

#[test]
fn a_refusal_is_made_out_for_one_offer() {
    for (at_client, at_server) in pairs() {
        let offering = offer(&at_client);
        let Ok((_, answering)) =
            Answering::open(&at_server, offering.message(), offer_hash(offering.message()))
        else {
            panic!("not opened")
        };
        let refusal = Refusal { id: ID, kind: RefusalKind::Incompatible, text: "no".into() };
        let reply = answering.refuse(Tag::of(ID), &refusal).unwrap();
        assert_eq!(offering.refusal(&reply).unwrap(), refusal);
        for (bit, altered) in altered(&reply) {
            assert!(offering.refusal(&altered).is_err(), "bit {bit}");
        }
        let open = wire::encode(Kind::Refusal, Tag::of(ID), &refusal).unwrap();
        assert_eq!(offering.refusal(&open), Err(Unreadable::Unproven));
        // The same client, a moment later.
        let mut dice = 100;
        let random = || {
            dice += 1;
            dice
        };
        let offer = Offer::new(ID, &[]).unwrap();
        let later = Offering::new((&offer, &offer.stack().unwrap()), &at_client, random).unwrap();
        assert_eq!(later.refusal(&reply), Err(Unreadable::Unproven));
    }
}

#[test]
fn what_is_said_later_is_heard_once_and_by_the_other_end_alone() {
    for pair in pairs() {
        let (_, _, client, server) = agree(&pair);
        let close = Close { id: ID, failure: "why".into() };
        let tag = Tag::of(ID);
        let (first, second) = (
            client.encode(Kind::Close, tag, &close).unwrap(),
            client.encode_bare(Kind::KeepAlive, tag).unwrap(),
        );
        for (bit, altered) in altered(&first) {
            assert!(server.decode::<Close>(&altered).is_err(), "bit {bit}");
        }
        assert!(client.decode::<Close>(&first).is_err(), "sent back");
        assert!(server.verify_bare(&second), "in any order");
        assert_eq!(server.decode::<Close>(&first).unwrap(), close);
        assert!(server.decode::<Close>(&first).is_err() && !server.verify_bare(&second), "replayed");
        assert_eq!(server.forged(), (first.len() as u64 - 4) * 8 + 2);
    }
}

#[test]
fn a_reset_is_believed_by_its_token_alone() {
    let (_, _, client, _) = agree(&pairs()[0]);
    let genuine = reset(Tag::of(ID), &[9; MAC]);
    // The reader of the message compares the header.
    for (bit, altered) in altered(&genuine).filter(|(bit, _)| *bit >= 8 * HEADER) {
        assert!(!client.verify_reset(&altered), "bit {bit}");
    }
    assert!(!client.verify_reset(&Tag::of(ID).header(Kind::Reset)));
    assert!(client.verify_reset(&genuine));
}

#[test]
fn reset_tokens_are_of_one_server_one_client_and_one_connection() {
    let token = |credentials: &Credentials, id, peer| credentials.reset_token(Tag::of(id), peer);
    let ours = token(&shared(1), 1, b"peer");
    assert_eq!(ours, token(&shared(1), 1, b"peer"));
    for other in [
        token(&shared(2), 1, b"peer"),
        token(&shared(1), 2, b"peer"),
        token(&shared(1), 1, b"pear"),
        token(&Credentials::default().identity(key(1)), 1, b"peer"),
    ] {
        assert_ne!(ours, other);
    }
}

#[test]
fn fresh_bits_are_the_same_for_one_context_only() {
    let secret = seed(|| 5);
    let (one, same, other) =
        (Fresh::derive(&secret, b"1"), Fresh::derive(&secret, b"1"), Fresh::derive(&secret, b"2"));
    assert_eq!((one.number, one.nonce), (same.number, same.nonce));
    assert!(one.number != other.number && one.nonce != other.nonce && one.secret != other.secret);
}

#[test]
fn an_offer_of_sixteen_alternatives_fits_into_a_packet_with_all_its_proofs() {
    let layer = |number| {
        let name: &'static str = format!("bertha-chunnels::Alternative{number:02}").leak();
        vec![Node::Layer(LayerInfo::plain(name, 1))]
    };
    let choice = |number| Node::Select { branches: [layer(number), layer(number + 16)], prefer: 0.into() };
    let nodes: Vec<Node> = (0..16).map(choice).collect();
    let offer = Offer::new(u64::MAX, &nodes).unwrap();
    let (at_client, _) = pairs().remove(3);
    let offering = Offering::new((&offer, &offer.stack().unwrap()), &at_client, || 1).unwrap();
    let len = offering.message().len() + wire::ENVELOPE;
    assert!(len <= 1200, "{len} bytes");
}
