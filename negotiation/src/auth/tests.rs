use super::*;
use crate::wire::{self, Answer, Close, HEADER, Kind, Offer, Refusal, RefusalKind, Tag, Unreadable};
use bertha_core::{LayerInfo, Node, Role};

const ID: u64 = 0x1122_3344_5566_7788;

fn shared(byte: u8) -> Credentials {
    Credentials::shared(SharedKey::new([byte; 32]))
}

fn key(byte: u8) -> IdentityKey {
    IdentityKey::from_seed([byte; 32])
}

/// Returns all compatible pairs of credentials: client and server.
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
        Offering::new(&offer, &offer.stack().unwrap(), credentials, random).unwrap()
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
        ticket: None,
        stack: "Zip".into(),
        reasons: String::new(),
        capabilities: Vec::new(),
    }
}

/// Returns the offer, the answer, and both sessions.
fn agree((at_client, at_server): &(Credentials, Credentials)) -> (Offering, Vec<u8>, Session, Session) {
    let offering = offer(at_client);
    let Ok((read, answering)) =
        Answering::open(at_server, offering.message(), offer_hash(offering.message()))
    else {
        panic!("not opened")
    };
    assert_eq!(read.id, ID);
    let fresh = HandshakeNonce::draw(|| 77);
    let (reply, server) = answering.answer(&answer(), Some(&fresh), b"path").unwrap();
    let (read, client) = offering.answer(&reply).unwrap();
    assert_eq!(read, answer());
    assert_eq!(client.transcript(), server.transcript());
    (offering, reply, client, server)
}

/// Returns every message that differs in one bit, with a corrected check.
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
        // With a shared key or a client's signature the server notices the change, else the client notices it
        // in the answer.
        for (bit, altered) in altered(offering.message()) {
            let Ok((_, answering)) = Answering::open(&pair.1, &altered, offer_hash(&altered)) else {
                continue;
            };
            let Some((reply, server)) =
                answering.answer(&answer(), Some(&HandshakeNonce::draw(|| 77)), b"path")
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
        // The same client connects a moment later.
        let mut dice = 100;
        let random = || {
            dice += 1;
            dice
        };
        let offer = Offer::new(ID, &[]).unwrap();
        let later = Offering::new(&offer, &offer.stack().unwrap(), &at_client, random).unwrap();
        assert_eq!(later.refusal(&reply), Err(Unreadable::Unproven));
    }
}

#[test]
fn what_is_said_later_is_heard_once_and_by_the_other_end_alone() {
    for pair in pairs() {
        let (_, _, client, server) = agree(&pair);
        let close = Close { id: ID, failure: "why".into() };
        let tag = Tag::of(ID);
        let (first, second) =
            (client.encode(Kind::Close, tag, &close).unwrap(), client.keep_alive(tag).unwrap());
        for (bit, altered) in altered(&first) {
            assert!(server.decode::<Close>(&altered).is_err(), "bit {bit}");
        }
        assert!(client.decode::<Close>(&first).is_err(), "sent back");
        assert!(server.is_keep_alive(&second), "in any order");
        assert_eq!(server.decode::<Close>(&first).unwrap(), close);
        assert!(server.decode::<Close>(&first).is_err() && !server.is_keep_alive(&second), "replayed");
        assert_eq!(server.forged(), (first.len() as u64 - 4) * 8 + 2);
    }
}

#[test]
fn a_message_that_comes_back_is_not_heard() {
    let plain = || Credentials::default();
    for pair in pairs().into_iter().chain([(plain(), plain())]) {
        let (_, _, client, server) = agree(&pair);
        let (tag, close) = (Tag::of(ID), Close { id: ID, failure: String::new() });
        for end in [&client, &server] {
            assert!(end.decode::<Close>(&end.encode(Kind::Close, tag, &close).unwrap()).is_err());
            assert!(!end.is_keep_alive(&end.keep_alive(tag).unwrap()));
            assert!(!end.is_close_seen(&end.close_seen(tag).unwrap()));
            assert_eq!(end.forged(), 3);
        }
        assert!(client.decode::<Close>(&server.encode(Kind::Close, tag, &close).unwrap()).is_ok());
        assert!(client.is_keep_alive(&server.keep_alive(tag).unwrap()));
        assert!(client.is_close_seen(&server.close_seen(tag).unwrap()));
    }
}

/// Returns the reset of a server that has forgotten the connection of this keep-alive.
fn reset(server: &Credentials, keep_alive: &[u8], path: &[u8]) -> Vec<u8> {
    server.reset(Tag::of(ID), keep_alive, path).unwrap()
}

#[test]
fn a_reset_is_believed_by_its_token_alone() {
    for pair in pairs() {
        let (_, reply, client, server) = agree(&pair);
        let keep_alive = client.keep_alive(Tag::of(ID)).unwrap();
        let genuine = reset(&pair.1, &keep_alive, b"path");
        // The reader of the message compares the tag.
        let header = 8 * HEADER;
        for (bit, altered) in altered(&genuine).filter(|(bit, _)| *bit >= header) {
            assert!(!client.is_reset(&altered), "bit {bit}");
        }
        assert!(!client.is_reset(&Tag::of(ID).header_from(Role::Server, Kind::Reset)));
        assert!(!client.is_reset(&wire::encode_from(Role::Server, Kind::Reset, Tag::of(ID), &()).unwrap()));
        // The token was never on the wire before, neither in the answer nor elsewhere.
        for seen in [&reply, &keep_alive].into_iter().flat_map(|message| message.windows(MAC)) {
            let mut forged = genuine[..=HEADER].to_vec();
            forged.extend(seen);
            assert!(!client.is_reset(&wire::checked(forged)));
        }
        assert!(client.is_reset(&genuine));
        assert!(!server.is_reset(&genuine), "a server has no use for one");
    }
}

#[test]
fn damage_makes_no_plain_message_another() {
    let (_, _, client, server) = agree(&Default::default());
    let tag = Tag::of(ID);
    let data = [&tag.header(Kind::Data)[..], b"data of the application"].concat();
    let kinds = [Kind::KeepAlive, Kind::CloseSeen, Kind::Reset];
    for from in [Role::Client, Role::Server] {
        let plain = kinds.map(|kind| wire::encode_from(from, kind, tag, &()).unwrap());
        for message in plain.iter().chain([&data]) {
            for first in (0..=u8::MAX).filter(|first| *first != message[0]) {
                let damaged = [&[first], &message[1..]].concat();
                for end in [&client, &server] {
                    assert!(!end.is_reset(&damaged), "{damaged:?}");
                    assert!(!end.is_close_seen(&damaged) && !end.is_keep_alive(&damaged), "{damaged:?}");
                }
            }
        }
    }
}

#[test]
fn a_plain_server_ignores_resets() {
    let (_, _, client, server) = agree(&Default::default());
    for sender in [Role::Client, Role::Server] {
        let reset = wire::encode_from(sender, Kind::Reset, Tag::of(ID), &()).unwrap();
        assert_eq!((client.is_reset(&reset), server.is_reset(&reset)), (sender == Role::Server, false));
    }
}

#[test]
fn resets_are_of_one_server_one_path_and_one_connection() {
    let (_, _, client, _) = agree(&pairs()[0]);
    let keep_alive = client.keep_alive(Tag::of(ID)).unwrap();
    let ours = reset(&shared(1), &keep_alive, b"path");
    assert_eq!(ours, reset(&shared(1), &keep_alive, b"path"));
    let mut of_another_nonce = keep_alive.clone();
    of_another_nonce[HEADER + 1] ^= 1;
    for other in [
        reset(&shared(2), &keep_alive, b"path"),
        reset(&shared(1), &of_another_nonce, b"path"),
        reset(&shared(1), &keep_alive, b"bath"),
        reset(&Credentials::default().identity(key(1)), &keep_alive, b"path"),
        shared(1).reset(Tag::of(ID + 1), &keep_alive, b"path").unwrap(),
    ] {
        assert!(client.is_reset(&ours) && !client.is_reset(&other));
    }
    assert!(Credentials::default().reset(Tag::of(ID), &keep_alive, b"path").is_none());
}

#[test]
fn fresh_bits_are_the_same_for_one_context_only() {
    let secret = seed(|| 5);
    let (one, same, other) = (
        HandshakeNonce::derive(&secret, b"1"),
        HandshakeNonce::derive(&secret, b"1"),
        HandshakeNonce::derive(&secret, b"2"),
    );
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
    let offering = Offering::new(&offer, &offer.stack().unwrap(), &at_client, || 1).unwrap();
    let len = offering.message().len() + wire::ENVELOPE;
    assert!(len <= 1200, "{len} bytes");
}
