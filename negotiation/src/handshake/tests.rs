//! A client and the decision of a server, in virtual time.

use super::confirmation::{CANDIDATES, ConfirmationWait, Step};
use super::*;
use crate::wire::{self, Answer, COOKIE, Kind, Refusal, RefusalKind, Retry, Tag};
use crate::{Credentials, Settings, SharedKey};
use bertha_core::{Buf, Error, ErrorKind, LayerInfo, Node};
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

/// A server that starts at `start`, with its settings.
struct Server {
    start: Instant,
    settings: Settings,
    tickets: Tickets,
}

fn layer(name: &'static str) -> Node {
    Node::Layer(LayerInfo::plain(name, 1))
}

fn nodes() -> [Node; 1] {
    [Node::Select { branches: [vec![layer("a::Zip")], vec![layer("a::Lz")]], prefer: 0.into() }]
}

fn with_key() -> Settings {
    Settings { credentials: Credentials::shared(SharedKey::new([7; 32])), ..Settings::default() }
}

fn client(settings: &Settings, mtu: usize, now: Instant) -> Result<Handshake, Error> {
    Handshake::new(&nodes(), Requirements::OPEN, || 77, mtu, now, settings)
}

impl Server {
    fn new(start: Instant, settings: Settings) -> Self {
        Self { start, settings, tickets: Tickets::new([1; 32], start) }
    }

    fn decide(&self, message: &[u8], nodes: &[Node], early_data: EarlyData) -> Decision {
        self.decide_within(AmplificationLimit::UNLIMITED, message, nodes, early_data)
    }

    fn decide_within(
        &self,
        amplification_limit: AmplificationLimit,
        message: &[u8],
        nodes: &[Node],
        early_data: EarlyData,
    ) -> Decision {
        let fresh = crate::auth::HandshakeNonce::draw(|| 9);
        let terms = Terms {
            idle_timeout: Duration::from_secs(9),
            credentials: &self.settings.credentials,
            fresh: Some(&fresh),
            requirements: Requirements::OPEN,
            path: b"path",
            early_data,
            tickets: Some(&self.tickets),
            now: self.start,
            amplification_limit,
        };
        decide(message, nodes, &terms)
    }

    fn accept(&self, message: &[u8], early_data: EarlyData) -> Accepted {
        match self.decide(message, &nodes(), early_data) {
            Decision::Accept(accepted) => *accepted,
            other => panic!("not accepted: {other:?}"),
        }
    }
}

#[test]
fn an_offer_is_repeated_after_pauses_that_double_up_to_two_seconds() {
    let start = Instant::now();
    let settings = Settings { repeat_after: 300 * MS, ..Settings::default() };
    let mut client = client(&settings, 1_200, start).unwrap();
    let deadline = start + settings.handshake_timeout;
    assert_eq!((client.id(), client.forged(), client.poll_timeout()), (77, 0, deadline));
    let mut due = start;
    for pause in [300, 600, 1_200, 2_000, 2_000, 2_000] {
        let offer = client.poll_transmit(due).unwrap().unwrap().to_vec();
        assert_eq!(offer, client.offer());
        due += pause * MS;
        assert_eq!(client.poll_timeout(), due);
        assert!(client.poll_transmit(due - MS).unwrap().is_none());
    }
    assert!(client.poll_transmit(due).unwrap().is_some());
    assert_eq!(client.poll_timeout(), deadline);
    assert!(client.poll_transmit(deadline - MS).unwrap().is_none());
    assert_eq!(client.poll_transmit(deadline).unwrap_err().kind(), ErrorKind::TimedOut);
}

#[test]
fn an_offer_has_to_fit_together_with_a_cookie() {
    let now = Instant::now();
    let settings = Settings::default();
    let len = client(&settings, 1_200, now).unwrap().offer().len();
    let fits = len + wire::ENVELOPE;
    assert!(client(&settings, fits, now).is_ok());
    let error = client(&settings, fits - 1, now).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(error.context().starts_with(&format!("the offer takes {fits} bytes, at most {} fit", fits - 1)));
}

#[test]
fn a_cookie_is_returned_at_once_four_times_and_then_when_the_offer_is_due() {
    let start = Instant::now();
    let settings = Settings::default();
    let mut client = client(&settings, 1_200, start).unwrap();
    client.poll_transmit(start).unwrap();
    let retry =
        |id, cookie| wire::encode(Kind::Retry, Tag::of(77), &Retry { id, cookie: [cookie; COOKIE] }).unwrap();
    assert!(matches!(client.handle(&retry(78, 1)).unwrap(), Progress::Ignored));
    assert!(client.poll_transmit(start).unwrap().is_none());
    for cookie in 1..=4 {
        assert!(matches!(client.handle(&retry(77, cookie)).unwrap(), Progress::Again));
        assert!(matches!(client.handle(&retry(77, cookie)).unwrap(), Progress::Ignored), "the same cookie");
        let returned = wire::envelop(&[cookie; COOKIE], client.offer()).unwrap();
        assert_eq!(client.poll_transmit(start).unwrap(), Some(&returned[..]));
        assert_eq!(client.poll_timeout(), start + settings.repeat_after, "the pause begins anew");
    }
    assert!(matches!(client.handle(&retry(77, 5)).unwrap(), Progress::Again));
    assert!(client.poll_transmit(start).unwrap().is_none());
    assert!(client.poll_transmit(start + settings.repeat_after).unwrap().is_some());
}

#[test]
fn a_refusal_without_a_proof_ends_the_wait_a_second_later() {
    let start = Instant::now();
    let refusal = Refusal { id: 77, kind: RefusalKind::Incompatible, text: "no such stack".into() };
    let refusal = wire::encode(Kind::Refusal, Tag::of(77), &refusal).unwrap();
    let mut open = client(&Settings::default(), 1_200, start).unwrap();
    assert_eq!(open.handle(&refusal).unwrap_err().context(), "no such stack");
    let mut client = client(&with_key(), 1_200, start).unwrap();
    client.poll_transmit(start).unwrap();
    for forged in 1..4 {
        assert!(matches!(client.handle(&refusal).unwrap(), Progress::Ignored));
        assert_eq!(client.forged(), forged);
        client.poll_transmit(start + (forged as u32 - 1) * 300 * MS).unwrap();
    }
    assert!(client.poll_transmit(start + 999 * MS).is_ok());
    let error = client.poll_transmit(start + 1_000 * MS).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated);
    assert!(error.context().ends_with("no such stack"), "{error}");
}

#[test]
fn a_refusal_that_exceeds_the_limit_waits_for_a_proof_of_the_address() {
    let start = Instant::now();
    let server = Server::new(start, with_key());
    let (mut client, offer) = offer_of(77, &server.settings, start);
    let refused = |limit| server.decide_within(limit, &offer, &[layer("a::Other")], EarlyData::AtOnce);
    assert!(matches!(refused(AmplificationLimit::of(1)), Decision::Retry));
    for limit in [AmplificationLimit::of(1_000), AmplificationLimit::UNLIMITED] {
        let Decision::Refuse { reply, .. } = refused(limit) else { panic!() };
        assert_eq!(client.handle(&reply).unwrap_err().kind(), ErrorKind::Refused);
    }
}

/// A server that had to forget the offer gives an identical answer, from which the keys follow.
#[test]
fn texts_of_an_answer_are_as_long_with_a_cookie_as_without() {
    let start = Instant::now();
    let server = Server::new(start, with_key());
    let (_, offer) = offer_of(77, &server.settings, start);
    let silent = |_| Node::Layer(LayerInfo::plain("a::WithAVeryLongNameOfFortyBytesAndMore", 1).one_sided());
    let nodes: Vec<_> = nodes().into_iter().chain((0..12).map(silent)).collect();
    let reply = |limit, message: &[u8]| match server.decide_within(limit, message, &nodes, EarlyData::AtOnce)
    {
        Decision::Accept(accepted) => accepted.reply,
        other => panic!("not accepted: {other:?}"),
    };
    let returned = wire::envelop(&[1; COOKIE], &offer).unwrap();
    let first = reply(AmplificationLimit::of(offer.len()), &offer);
    assert_eq!(first, reply(AmplificationLimit::UNLIMITED, &returned));
    assert!(first.len() < reply(AmplificationLimit::UNLIMITED, &offer).len());
}

#[test]
fn an_answer_is_believed_with_the_clients_id_and_picks_for_all_of_its_choices() {
    let start = Instant::now();
    for settings in [Settings::default(), with_key()] {
        let server = Server::new(start, settings.clone());
        let mut client = client(&settings, 1_200, start).unwrap();
        let offer = client.poll_transmit(start).unwrap().unwrap().to_vec();
        let accepted = server.accept(&offer, EarlyData::AtOnce);
        let Progress::Agreed(answer, session) = client.handle(&accepted.reply).unwrap() else { panic!() };
        assert_eq!((&answer.client_picks[..], &answer.server_picks[..]), (&[0][..], &[0][..]));
        assert_eq!(session.transcript(), accepted.session.transcript());
        assert!(matches!(client.handle(&Tag::of(77).header(Kind::Data)).unwrap(), Progress::Early));
        assert!(matches!(client.handle(&Tag::of(78).header(Kind::Data)).unwrap(), Progress::Ignored));
        let mut other = super::client::Handshake::new(
            &[layer("a::Zip")],
            Requirements::OPEN,
            || 77,
            1_200,
            start,
            &settings,
        )
        .unwrap();
        assert!(matches!(other.handle(&accepted.reply).unwrap_or(Progress::Ignored), Progress::Ignored));
    }
}

/// A client that knows a server's agreement, which it has a ticket for.
fn flight(server: &Server, mtu: usize, most: usize) -> FirstFlight {
    let start = server.start;
    let mut first = client(&server.settings, 1_200, start).unwrap();
    let offer = first.poll_transmit(start).unwrap().unwrap().to_vec();
    let accepted = server.accept(&offer, EarlyData::AtOnce);
    let Progress::Agreed(answer, _) = first.handle(&accepted.reply).unwrap() else { panic!() };
    let ticket = HeldTicket { ticket: answer.ticket.unwrap_or([0; wire::TICKET]), received: start };
    let expected = first.expectation(&answer);
    let handshake = client(&server.settings, mtu, start).unwrap();
    FirstFlight::new(handshake, expected, ticket, mtu, most, 5 * MS, start)
}

#[test]
fn a_first_flight_waits_for_a_message_a_hurry_or_its_delay() {
    let start = Instant::now();
    let server = Server::new(start, with_key());
    let mut waiting = flight(&server, 1_200, 3);
    assert_eq!((waiting.id(), waiting.forged(), waiting.poll_timeout()), (77, 0, start + 5 * MS));
    assert!(waiting.poll_transmit(start + 4 * MS).unwrap().is_none());
    let offer = waiting.poll_transmit(start + 5 * MS).unwrap().unwrap();
    assert_eq!(offer, waiting.offer());
    assert!(!waiting.push(b"late"), "the offer was sent without messages");
    assert!(!waiting.hurry());

    let mut hurried = flight(&server, 1_200, 3);
    assert!(hurried.hurry() && !hurried.hurry());
    assert!(hurried.poll_timeout() > start + 5 * MS);
    assert!(hurried.poll_transmit(start).unwrap().is_some());

    let mut talking = flight(&server, 1_200, 3);
    for count in 1..=3 {
        assert!(talking.push(b"hello"), "{count}");
        let sent = talking.poll_transmit(start).unwrap().unwrap();
        assert!(sent.len() > talking.offer().len());
        assert!(talking.poll_transmit(start).unwrap().is_none(), "there is no news");
    }
    assert!(!talking.push(b"one too many"));
}

#[test]
fn a_first_flight_takes_messages_up_to_its_last_byte() {
    let server = Server::new(Instant::now(), with_key());
    let mtu = 1_200;
    let len = flight(&server, mtu, 9).offer().len();
    let room = wire::early_capacity(len, mtu, true);
    let (first, last) = (vec![1; 100], vec![2; room - 102 - 2]);
    let mut full = flight(&server, mtu, 9);
    assert!(full.push(&first) && full.push(&last) && !full.push(&[]));
    let sent = full.poll_transmit(server.start).unwrap().unwrap();
    assert_eq!(sent.len() + COOKIE + wire::HEADER + 1, mtu);
    let mut over = flight(&server, mtu, 9);
    assert!(over.push(&first) && !over.push(&[&last[..], &[2]].concat()));
}

#[test]
fn messages_that_the_server_has_not_taken_are_given_back() {
    let server = Server::new(Instant::now(), with_key());
    for (early_data, taken) in [(EarlyData::AtOnce, 2), (EarlyData::Refused, 0)] {
        let mut flight = flight(&server, 1_200, 9);
        assert!(flight.push(b"one") && flight.push(b"two"));
        let offer = flight.poll_transmit(server.start).unwrap().unwrap();
        let accepted = server.accept(&offer, early_data);
        assert_eq!((accepted.early.len(), accepted.is_flight), (taken, true));
        let Flight::Confirmed { answer, rest, .. } = flight.handle(&accepted.reply).unwrap() else {
            panic!()
        };
        assert_eq!((usize::from(answer.early), rest.len()), (taken, 2 - taken));
        assert!(matches!(flight.handle(&accepted.reply).unwrap(), Flight::Ignored), "it was answered");
        assert!(flight.poll_transmit(server.start).unwrap().is_none() && !flight.push(b"three"));
        let again = flight.again(None).unwrap();
        assert_eq!(again == offer, taken == 2);
        assert!(flight.again(Some(&[1; COOKIE])).is_some_and(|it| it.len() > again.len()));
    }
}

#[test]
fn another_stack_than_the_expected_one_replaces_it() {
    let server = Server::new(Instant::now(), with_key());
    let mut flight = flight(&server, 1_200, 9);
    assert!(flight.push(b"one"));
    let offer = flight.poll_transmit(server.start).unwrap().unwrap();
    let Decision::Accept(accepted) = server.decide(&offer, &[layer("a::Lz")], EarlyData::AtOnce) else {
        panic!()
    };
    assert!(accepted.early.is_empty());
    let Flight::Replaced(answer, _) = flight.handle(&accepted.reply).unwrap() else { panic!() };
    assert_eq!(answer.client_picks, [1]);
}

/// Any host may forge the answer, since there is no key.
#[test]
fn an_answer_that_takes_messages_which_were_not_sent_is_ignored() {
    let server = Server::new(Instant::now(), Settings::default());
    let mut flight = flight(&server, 1_200, 9);
    assert!(flight.push(b"one"));
    let offer = flight.poll_transmit(server.start).unwrap().unwrap();
    let reply = server.accept(&offer, EarlyData::Refused).reply;
    let mut handle = |early, client_picks: &[u8]| {
        let answer = wire::decode::<Answer>(&reply).unwrap();
        let answer = Answer { early, client_picks: client_picks.to_vec(), ..answer };
        flight.handle(&wire::encode(Kind::Answer, Tag::of(77), &answer).unwrap()).unwrap()
    };
    assert!(matches!(handle(2, &[0]), Flight::Ignored), "two messages of one");
    assert!(matches!(handle(1, &[1]), Flight::Ignored), "a message for another stack");
    assert!(matches!(handle(1, &[0]), Flight::Confirmed { rest, .. } if rest.is_empty()));
}

fn offer_of(id: u64, settings: &Settings, now: Instant) -> (Handshake, Vec<u8>) {
    let mut client = Handshake::new(&nodes(), Requirements::OPEN, || id, 1_200, now, settings).unwrap();
    let offer = client.poll_transmit(now).unwrap().unwrap().to_vec();
    (client, offer)
}

#[test]
fn answers_that_are_not_confirmed_are_repeated_in_turn_within_the_limit() {
    let start = Instant::now();
    let server = Server::new(start, with_key());
    let accepted = |id| server.accept(&offer_of(id, &server.settings, start).1, EarlyData::AtOnce);
    let len = accepted(1).reply.len();
    let limit = AmplificationLimit::of(0);
    let mut wait = ConfirmationWait::new(accepted(1), limit, 3, 700 * MS, start);
    // The limit of the second offer is enough for its reply and three more.
    let mut more = AmplificationLimit::of(len);
    more.receive(len);
    assert!(more.spend(2 * len));
    assert!(wait.add(accepted(2), more).is_some());
    let mut due = start;
    for (pause, of) in [(700, Some(1)), (1_400, Some(2)), (2_000, Some(1)), (2_000, None)] {
        due += pause * MS;
        assert_eq!((wait.poll_timeout(), wait.poll_transmit(due - MS)), (due, None));
        assert_eq!(wait.poll_transmit(due), of.map(|id| accepted(id).reply), "after {pause} ms");
    }
    assert!(wait.add(accepted(3), AmplificationLimit::of(0)).is_none(), "the limit is used up");
}

#[test]
fn messages_of_candidates_are_kept_and_their_offers_answered_again() {
    let start = Instant::now();
    let server = Server::new(start, with_key());
    let offer = |id| offer_of(id, &server.settings, start).1;
    let accepted = |id| server.accept(&offer(id), EarlyData::AtOnce);
    let buf = |bytes: &[u8]| Buf::copy_of(bytes, 0).unwrap();
    let mut wait = ConfirmationWait::new(accepted(1), AmplificationLimit::UNLIMITED, 2, 700 * MS, start);
    assert!(matches!(wait.handle(buf(&offer(1))), Step::Repeat(reply) if reply == accepted(1).reply));
    assert!(matches!(wait.handle(buf(&offer(2))), Step::Decide(_)));
    assert!(matches!(wait.handle(buf(b"garbage")), Step::Drop | Step::Unknown(_)));
    let data = |id| buf(&[&Tag::of(id).header(Kind::Data)[..], b"data"].concat());
    assert!(matches!(wait.handle(data(2)), Step::Unknown(_)));
    assert!(matches!(wait.handle(data(1)), Step::Kept) && matches!(wait.handle(data(1)), Step::Kept));
    assert!(matches!(wait.handle(data(1)), Step::Drop), "two are kept");
    let alive = wire::encode(Kind::KeepAlive, Tag::of(1), &()).unwrap();
    assert!(matches!(wait.handle(buf(&alive)), Step::Drop));
    let mut due = start;
    for pause in [700, 1_400] {
        due += pause * MS;
        assert!(wait.poll_transmit(due).is_some());
    }
    assert_eq!(wait.poll_timeout(), due + 2_000 * MS);
    // A client that takes itself for connected has not got its answer, and gets it soon.
    wait.handle(data(1));
    assert_eq!(wait.poll_timeout(), due + 700 * MS);

    let (mut client, _) = offer_of(1, &server.settings, start);
    let Progress::Agreed(answer, session) = client.handle(&accepted(1).reply).unwrap() else { panic!() };
    let confirm = |number| session.encode_confirm(Tag::of(1), &wire::Confirm { id: 1, number }).unwrap();
    let number = answer.confirm.unwrap();
    let (confirm, other) = (confirm(number), confirm(number + 1));
    assert!(matches!(wait.handle(buf(&other)), Step::Drop));
    let Step::Confirmed(confirmed, messages) = wait.handle(buf(&confirm)) else { panic!() };
    assert_eq!((confirmed.id, messages.len(), &messages[0][..]), (1, 2, &b"data"[..]));
    assert!(matches!(wait.handle(buf(&confirm)), Step::Unknown(_)));
}

#[test]
fn the_oldest_candidate_makes_room() {
    let start = Instant::now();
    let server = Server::new(start, with_key());
    let offer = |id| offer_of(id, &server.settings, start).1;
    let accepted = |id| server.accept(&offer(id), EarlyData::AtOnce);
    let mut wait = ConfirmationWait::new(accepted(0), AmplificationLimit::UNLIMITED, 2, 700 * MS, start);
    let last = CANDIDATES as u64;
    for id in 1..=last {
        assert!(matches!(wait.handle(Buf::copy_of(&offer(0), 0).unwrap()), Step::Repeat(_)), "{id}");
        assert!(wait.add(accepted(id), AmplificationLimit::UNLIMITED).is_some());
    }
    for id in 0..=last {
        let is_known = matches!(wait.handle(Buf::copy_of(&offer(id), 0).unwrap()), Step::Repeat(_));
        assert_eq!(is_known, id > 0, "{id}");
    }
}
