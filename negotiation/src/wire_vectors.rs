//! The test vectors of `WIRE.md`, in both directions.

use crate::auth::HandshakeNonce;
use crate::auth::{Answering, GroupKey, MacKey, Offering, claim, early_in, offer_hash, with_early};
use crate::handshake::{Cookies, Tickets};
use crate::wire::{
    self, Answer, Before, CLAIM, Close, Confirm, Early, Kind, Offer, Origin, PeerProgress, PresentedTicket,
    ProvenOrigin, Refusal, RefusalKind, Retry, TICKET, Tag, Upgrade, UpgradeStep, envelop, offer_in,
};
use crate::{Credentials, IdentityKey, Session, SharedKey};
use bertha_core::{ConnectContext, DifferingCapability, LayerInfo, Node, Role, Secured};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt::{Debug, Write};
use std::time::{Duration, Instant};

const ID: u64 = 0x0123_4567_89ab_cdef;
/// The addresses of both ends, as a server names them.
const PATH: &[u8] = b"10.0.0.2:4242 10.0.0.1:5000";

const WIRE: &str = include_str!("../WIRE.md");

/// The contents of the fenced blocks: for each name, `bytes` in hexadecimal digits and, for messages, their meaning
/// (`mean`).
fn written() -> BTreeMap<String, (String, String)> {
    let mut vectors = BTreeMap::new();
    let blocks = WIRE.split("```vector ").skip(1).filter_map(|rest| rest.split_once("```"));
    for (block, _) in blocks {
        let (name, lines) = block.split_once('\n').unwrap();
        let mut bytes = String::new();
        let mut meaning = String::new();
        for line in lines.lines() {
            match line.strip_prefix("= ") {
                Some(means) => meaning.push_str(means),
                None => bytes.extend(line.chars().filter(|it| !it.is_whitespace())),
            }
        }
        assert!(vectors.insert(name.trim().to_owned(), (bytes, meaning)).is_none(), "{name} twice");
    }
    vectors
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// The vectors as the code makes them; each message is also read from its bytes, and must have the meaning given for
/// it.
struct Vectors {
    made: BTreeMap<String, (String, String)>,
    /// True if the messages of the document are read, too. After a change of the format they can't be.
    reads_document: bool,
}

impl Vectors {
    fn add(&mut self, name: &str, bytes: &[u8], meaning: String) {
        self.made.insert(name.into(), (hex(bytes), meaning));
    }

    fn value(&mut self, name: &str, bytes: &[u8]) {
        self.add(name, bytes, String::new());
    }

    /// A message without a proof.
    fn plain<M: Serialize + DeserializeOwned + Debug + PartialEq>(
        &mut self,
        name: &str,
        kind: Kind,
        message: &M,
    ) {
        self.plain_from(Role::Client, name, kind, message);
    }

    /// A message of this end.
    fn plain_from<M: Serialize + DeserializeOwned + Debug + PartialEq>(
        &mut self,
        sender: Role,
        name: &str,
        kind: Kind,
        message: &M,
    ) {
        let bytes_of = wire::encode_from(sender, kind, Tag::of(ID), message).unwrap();
        self.add(name, &bytes_of, format!("{message:?}"));
        if !self.reads_document {
            return;
        }
        let Some((written, meaning)) = written().remove(name) else { return };
        let read = wire::decode::<M>(&bytes(&written)).unwrap();
        assert_eq!(
            (wire::header(&bytes(&written)).unwrap().0, format!("{read:?}")),
            (kind, meaning),
            "{name}"
        );
    }
}

fn offer() -> Offer {
    let one = |name| vec![Node::Layer(LayerInfo::plain(name, 1))];
    let choice = Node::Select { branches: [one("codecs::Zip"), one("codecs::Lz")], prefer: 1.into() };
    let mut offer =
        Offer::new(ID, &[Node::Layer(LayerInfo::plain("app::Log", 3).one_sided()), choice]).unwrap();
    offer.idle_ms = 30_000;
    offer
}

fn answer() -> Answer {
    Answer {
        id: ID,
        client_picks: vec![1],
        server_picks: vec![0],
        idle_ms: 20_000,
        confirm: None,
        early: 0,
        ticket: None,
        stack: "Lz".into(),
        reasons: "client's Zip and server's Lz: codecs::Lz is not codecs::Zip".into(),
        capabilities: Vec::new(),
    }
}

/// The ticket that a client presents with an offer.
const PRESENTED: PresentedTicket = PresentedTicket { ticket: [9; TICKET], age_ms: 1500 };

/// The messages that are sent with an offer.
const MESSAGES: [&[u8]; 2] = [b"hello", b""];

fn claimed() -> [u8; CLAIM] {
    let Answer { client_picks, server_picks, idle_ms, .. } = answer();
    claim(&client_picks, &server_picks, idle_ms, &[])
}

fn first_flight(offer: &[u8], key: Option<&MacKey>) -> Vec<u8> {
    with_early(offer, &claimed(), PRESENTED, MESSAGES.into_iter(), key).unwrap()
}

/// Returns the numbers after `last`, in place of random numbers.
fn counting(mut last: u64) -> impl FnMut() -> u64 {
    move || {
        last += 1;
        last
    }
}

/// A handshake with proofs, and the messages after it.
fn authenticated(
    vectors: &mut Vectors,
    name: &str,
    at_client: &Credentials,
    at_server: &Credentials,
) -> Session {
    let offering = Offering::new(&offer(), &offer().stack().unwrap(), at_client, counting(0)).unwrap();
    let Ok((read, answering)) =
        Answering::open(at_server, offering.message(), offer_hash(offering.message()))
    else {
        panic!("{name}")
    };
    assert_eq!(read, offer());
    let fresh = HandshakeNonce::draw(counting(100));
    let answer = Answer { confirm: Some(fresh.number), ..answer() };
    let (reply, server) = answering.answer(&answer, Some(&fresh), PATH).unwrap();
    let (_, client) = offering.answer(&reply).unwrap();
    let refusal =
        Refusal { id: ID, kind: RefusalKind::Incompatible, text: "no stack suits both ends".into() };
    let refused = answering.refuse(Tag::of(ID), &refusal).unwrap();
    let confirm = Confirm { id: ID, number: fresh.number };
    let tag = Tag::of(ID);
    vectors.add(&format!("{name} offer"), offering.message(), format!("{:?}", offer()));
    vectors.value(&format!("{name} hash of the offer"), &offer_hash(offering.message()));
    vectors.add(&format!("{name} answer"), &reply, format!("{answer:?}"));
    if let Some(key) = offering.early_key() {
        let flight = first_flight(offering.message(), Some(&key));
        let Early { messages, .. } = answering.early(&flight).unwrap();
        assert_eq!(messages, MESSAGES);
        vectors.value(&format!("{name} key for early messages"), key.bytes());
        vectors.value(&format!("{name} first flight"), &flight);
    }
    vectors.add(&format!("{name} refusal"), &refused, format!("{refusal:?}"));
    vectors.value(&format!("{name} transcript"), &client.transcript());
    vectors.value(&format!("{name} key of the client"), &client.keys().unwrap()[0]);
    vectors.value(&format!("{name} key of the server"), &client.keys().unwrap()[1]);
    let said = client.encode(Kind::Confirm, tag, &confirm).unwrap();
    vectors.add(&format!("{name} confirm"), &said, format!("{confirm:?}"));
    let keep_alive = client.keep_alive(tag).unwrap();
    vectors.value(&format!("{name} keep-alive"), &keep_alive);
    let upgrade = Upgrade { id: ID, round: 3, step: UpgradeStep::Begin { sent: 1000 } };
    let upgraded = client.encode(Kind::Upgrade, tag, &upgrade).unwrap();
    vectors.add(&format!("{name} upgrade"), &upgraded, format!("{upgrade:?}"));
    vectors.value(&format!("{name} reset"), &at_server.reset(tag, &keep_alive, PATH).unwrap());
    if vectors.reads_document {
        read_back(name, &offering, &answering, &client, &server);
    }
    client
}

/// A client's messages once a secure Chunnel has given the control key 32 x 06.
fn secured(vectors: &mut Vectors, name: &str, session: &Session) {
    ConnectContext::<()>::none().with_secured(session.secured()).secured(Secured::new([6; 32]));
    let tag = Tag::of(ID);
    vectors.value(&format!("{name} key of the client"), &session.keys().unwrap()[0]);
    vectors.value(&format!("{name} key of the server"), &session.keys().unwrap()[1]);
    vectors.value(&format!("{name} keep-alive"), &session.keep_alive(tag).unwrap());
    let close = Close { id: ID, failure: String::new() };
    let said = session.encode(Kind::Close, tag, &close).unwrap();
    vectors.add(&format!("{name} close"), &said, format!("{close:?}"));
}

/// Each vector of the file, read by the end that receives it.
fn read_back(name: &str, offering: &Offering, answering: &Answering<'_>, client: &Session, server: &Session) {
    let mut written = written();
    let mut take = |what: &str| {
        let (hex, meaning) = written.remove(&format!("{name} {what}")).unwrap_or_default();
        (bytes(&hex), meaning)
    };
    let (message, meaning) = take("offer");
    if message.is_empty() {
        return;
    }
    assert_eq!((message, meaning), (offering.message().to_vec(), format!("{:?}", offer())));
    let (message, meaning) = take("answer");
    let (read, session) = offering.answer(&message).unwrap();
    assert_eq!((format!("{read:?}"), session.keys()), (meaning, client.keys()));
    let (message, meaning) = take("refusal");
    assert_eq!(format!("{:?}", offering.refusal(&message).unwrap()), meaning);
    let (message, meaning) = take("confirm");
    assert_eq!(format!("{:?}", server.decode::<Confirm>(&message).unwrap()), meaning);
    assert!(server.is_keep_alive(&take("keep-alive").0));
    assert!(client.is_reset(&take("reset").0));
    assert_eq!(take("hash of the offer").0, answering.hash());
    assert_eq!(take("transcript").0, server.transcript());
    let (message, meaning) = take("upgrade");
    if !message.is_empty() {
        assert_eq!(format!("{:?}", server.decode::<Upgrade>(&message).unwrap()), meaning);
    }
}

fn upgrades(vectors: &mut Vectors) {
    let mut wanted = offer();
    wanted.idle_ms = u32::MAX;
    let accept = |is_ready| UpgradeStep::Accept {
        is_ready,
        proposer_picks: vec![1],
        own_picks: vec![0],
        reasons: String::new(),
        capabilities: Vec::new(),
    };
    let accept_differing = UpgradeStep::Accept {
        is_ready: true,
        proposer_picks: vec![1],
        own_picks: vec![0],
        reasons: String::new(),
        capabilities: vec![DifferingCapability { layer: 2, encoding: b"rate".to_vec() }],
    };
    let steps = [
        ("propose", UpgradeStep::Propose { offer: wanted }),
        ("accept", accept(false)),
        ("accept, ready", accept(true)),
        ("accept with a capability", accept_differing),
        ("decline", UpgradeStep::Decline { next: 0, text: "no stack suits both ends".into() }),
        ("decline of a number", UpgradeStep::Decline { next: 4, text: "the number is used".into() }),
        ("abort", UpgradeStep::Abort),
        ("begin", UpgradeStep::Begin { sent: 1000 }),
        ("begin-seen", UpgradeStep::BeginSeen),
    ];
    for (name, step) in steps {
        vectors.plain(&format!("upgrade: {name}"), Kind::Upgrade, &Upgrade { id: ID, round: 3, step });
    }
}

fn vectors(reads_document: bool) -> Vectors {
    let mut vectors = Vectors { made: BTreeMap::new(), reads_document };
    let start = Instant::now();
    vectors.value("data", &Tag::of(ID).header(Kind::Data));
    for (name, sender, kind) in [
        ("close-seen of the client", Role::Client, Kind::CloseSeen),
        ("close-seen of the server", Role::Server, Kind::CloseSeen),
        ("keep-alive of the client", Role::Client, Kind::KeepAlive),
        ("keep-alive of the server", Role::Server, Kind::KeepAlive),
        ("reset", Role::Server, Kind::Reset),
    ] {
        vectors.plain_from(sender, name, kind, &());
    }
    vectors.plain("offer", Kind::Offer, &offer());
    vectors.plain("answer", Kind::Answer, &answer());
    let capabilities = vec![DifferingCapability { layer: 2, encoding: b"rate".to_vec() }];
    vectors.value("claim with a capability", &claim(&[1], &[0], 20_000, &capabilities));
    vectors.plain("answer with a capability", Kind::Answer, &Answer { capabilities, ..answer() });
    let later = Duration::from_secs(100);
    let ticket = Tickets::new([3; 32], start).issue(start + later);
    vectors.value("ticket", &ticket);
    vectors.plain("answer with a ticket", Kind::Answer, &Answer { ticket: Some(ticket), ..answer() });
    let refusal = |kind, text: &str| Refusal { id: ID, kind, text: text.into() };
    vectors.plain("refusal", Kind::Refusal, &refusal(RefusalKind::Incompatible, "no stack suits both ends"));
    let full = "the server has no room for the client at the moment";
    vectors.plain("refusal for want of room", Kind::Refusal, &refusal(RefusalKind::Busy, full));
    let old = "the client speaks version 2 of the negotiation protocol, the server version 3";
    vectors.plain(
        "refusal of a version",
        Kind::Refusal,
        &Refusal { id: 0, ..refusal(RefusalKind::Version, old) },
    );
    upgrades(&mut vectors);
    vectors.value("data of round 1", &Tag::of(ID).data_header(1));
    vectors.value("data of round 127", &Tag::of(ID).data_header(127));
    vectors.value("data of round 128", &Tag::of(ID).data_header(128));
    let close = Close { id: ID, failure: String::new() };
    vectors.plain("close of the client", Kind::Close, &close);
    vectors.plain_from(Role::Server, "close of the server", Kind::Close, &close);
    vectors.plain("confirm", Kind::Confirm, &Confirm { id: ID, number: 0x1122_3344_5566_7788 });

    let plain = wire::encode(Kind::Offer, Tag::of(ID), &offer()).unwrap();
    let cookie = Cookies::new([3; 32], start).issue(start + later, b"10.0.0.1:5000", &plain);
    vectors.value("cookie", &cookie);
    vectors.plain("retry", Kind::Retry, &Retry { id: ID, cookie });
    let returned = envelop(&cookie, &plain).unwrap();
    assert_eq!(offer_in(&returned), Some((&plain[..], Some(&cookie))));
    vectors.value("returned", &returned);
    vectors.value("claim", &claimed());
    for (name, offer) in [("first flight", &plain), ("first flight with a cookie", &returned)] {
        let flight = first_flight(offer, None);
        assert_eq!(offer_in(&flight), offer_in(offer));
        let early = early_in(&flight, None).unwrap();
        assert_eq!((early.presented, early.messages), (PRESENTED, MESSAGES.to_vec()));
        vectors.value(name, &flight);
    }

    among_any_number(&mut vectors);

    let answer = wire::encode(Kind::Answer, Tag::of(ID), &answer()).unwrap();
    let data = [&Tag::of(ID).header(Kind::Data)[..], b"hello"].concat();
    let joined = wire::join(&answer, &data, wire::LARGEST_JOINED).unwrap();
    assert_eq!(wire::parts(&joined), Some((&answer[..], &data[..])));
    vectors.value("answer and data", &joined);
    let offering =
        Offering::new(&offer(), &offer().stack().unwrap(), &Credentials::default(), counting(0)).unwrap();
    assert_eq!(offering.message(), plain);
    let (_, session) = offering.answer(&answer).unwrap();
    vectors.value("transcript", &session.transcript());
    secured(&mut vectors, "secured:", &session);

    let shared = Credentials::shared(SharedKey::new([1; 32]));
    let session = authenticated(&mut vectors, "shared:", &shared, &shared);
    secured(&mut vectors, "shared and secured:", &session);
    let ours = IdentityKey::from_seed([4; 32]);
    let theirs = IdentityKey::from_seed([5; 32]);
    let at_client = Credentials::default().trusting([theirs.public()]).identity(ours.clone());
    let at_server = Credentials::default().identity(theirs).trusting([ours.public()]);
    authenticated(&mut vectors, "identity:", &at_client, &at_server);
    vectors
}

/// The messages of round 3 of the life with this id, from a participant with the number 0x1122334455667788.
fn among_any_number(vectors: &mut Vectors) {
    let origin = Origin { number: 258, sender: 0x1122_3344_5566_7788 };
    let header = Tag::of_round(ID, 3).header(Kind::GroupData);
    let data = [&header[..], &origin.to_bytes(), b"hello"].concat();
    vectors.add("group data", &data, format!("{origin:?}"));
    assert_eq!(wire::origin(&data[wire::HEADER..]), Some(origin));
    let key = GroupKey::new(&SharedKey::new([1; 32]));
    let sender = origin.sender;
    let number = u64::from(origin.number);
    let header = Tag::of_round(ID, 3).header(Kind::ProvenGroupData);
    let said = [&header[..], &number.to_le_bytes(), &sender.to_le_bytes(), b"hello"];
    let proven = ProvenOrigin { number, sender, mac: key.sender(ID, 3, sender).tag(&said) };
    let data = [&header[..], &proven.to_bytes(), b"hello"].concat();
    vectors.add("proven group data", &data, format!("{proven:?}"));
    assert_eq!(wire::proven_origin(&data[wire::HEADER..]), Some(proven));
    for (name, before) in [
        ("peer progress: from the start", None),
        ("peer progress: has moved", Some(None)),
        ("peer progress: is done", Some(Some(1000))),
    ] {
        let before = before.map(|sent| Before { life: ID, round: 2, sent });
        let progress = PeerProgress { sender, life: ID, round: 3, before, asks: false };
        vectors.plain(name, Kind::PeerProgress, &progress);
        let proven = key.encode_progress(Tag::of_round(ID, 3), &progress, 7).unwrap();
        assert_eq!(key.decode_progress(&proven), Some((progress.clone(), 7)));
        vectors.add(&format!("{name}, proven"), &proven, format!("{progress:?}"));
    }
}

#[test]
fn the_document_says_what_the_code_does() {
    let vectors = vectors(true).made;
    let mut written = written();
    for (name, vector) in vectors {
        let found = written.remove(&name).unwrap_or_else(|| panic!("WIRE.md lacks the vector `{name}`"));
        assert_eq!(found, vector, "{name}");
    }
    assert!(written.is_empty(), "vectors of nothing: {written:?}");
}

/// Prints the vectors for the document after a change of the format.
#[test]
#[ignore = "prints the vectors"]
fn print() {
    for (name, (hex, meaning)) in vectors(false).made {
        println!("```vector {name}");
        let digits: Vec<char> = hex.chars().collect();
        digits.chunks(96).for_each(|line| println!("{}", line.iter().collect::<String>()));
        if !meaning.is_empty() {
            println!("= {meaning}");
        }
        println!("```");
    }
}
