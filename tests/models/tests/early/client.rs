//! The client: its inputs so far, played anew each time, since the state machine can't be copied.

use super::state::Flaw;
use bertha_core::{LayerInfo, Node};
use bertha_negotiation::Settings;
use bertha_negotiation::testing::handshake::{
    Expected, FirstFlight, Flight, Handshake, HeldTicket, Requirements, Tickets,
};
use bertha_negotiation::testing::wire::{self, Answer, HEADER, Kind, Tag};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const ID: u64 = 0x0123_4567_89ab_cdef;

/// An input of the client.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Input {
    /// The application sends its next message.
    Send,
    /// Time passes.
    Wait,
    /// A message of the server's arrives: a handshake message, data, or an answer and data in one message.
    Hear(Vec<u8>),
}

/// The phase of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Opening,
    First,
    Second,
    Failed,
}

/// The client's state after all its inputs, and its output for the last input.
pub(crate) struct Played {
    pub(crate) phase: Phase,
    pub(crate) sent: u8,
    /// The handshake messages, and the data, that the client sent for the last input.
    pub(crate) handshake: Vec<Vec<u8>>,
    pub(crate) data: Vec<Vec<u8>>,
    /// All messages that the client's application has received.
    pub(crate) heard: Vec<Vec<u8>>,
}

pub(crate) fn start() -> Instant {
    static START: OnceLock<Instant> = OnceLock::new();
    *START.get_or_init(Instant::now)
}

pub(crate) fn layer(name: &'static str) -> Vec<Node> {
    vec![Node::Layer(LayerInfo::plain(name, 1))]
}

/// Returns a choice between two stacks.
pub(crate) fn either() -> Vec<Node> {
    vec![Node::Select { branches: [layer("model::A"), layer("model::B")], prefer: 0.into() }]
}

/// Returns a message in the form that it has over a stack.
pub(crate) fn encoded(stack: u8, message: u8) -> Vec<u8> {
    vec![stack, message]
}

/// Returns a message of the server's over a stack, in the form that it has on the network.
pub(crate) fn data(stack: u8, message: u8) -> Vec<u8> {
    [&Tag::of(ID).header(Kind::Data)[..], &encoded(stack, message)].concat()
}

/// Returns the data in a message of the server's, if there are any: without its header, behind an answer or
/// alone.
pub(crate) fn data_in(message: &[u8]) -> Option<&[u8]> {
    let alone = |message: &&[u8]| message.starts_with(&Tag::of(ID).header(Kind::Data));
    let data = wire::parts(message).map(|(_, data)| data).or(Some(message).filter(alone))?;
    data.get(HEADER..)
}

/// Returns the stack of an answer.
pub(crate) fn stack_of(answer: &Answer) -> u8 {
    if answer.client_picks == [0] { b'A' } else { b'B' }
}

/// Returns the tickets of the server before or after its restart.
pub(crate) fn tickets(has_restarted: bool) -> Tickets {
    Tickets::new([u8::from(has_restarted); 32], start())
}

/// Plays `inputs` to a client whose flight takes `most` messages.
pub(crate) fn play(inputs: &[Input], most: usize, flaw: Flaw) -> Played {
    let mut settings = Settings::default();
    settings.handshake_timeout = Duration::from_secs(1000);
    let mut now = start();
    let handshake = Handshake::new(&either(), Requirements::OPEN, || ID, 1400, now, &settings).unwrap();
    let expected =
        Expected { client_picks: vec![0], server_picks: vec![0], idle_ms: 30_000, capabilities: Vec::new() };
    let ticket = HeldTicket { ticket: tickets(false).issue(now), received: now };
    let mut flight = FirstFlight::new(handshake, expected, ticket, 1400, most, Duration::from_secs(1), now);
    let (handshake, data, heard) = (Vec::new(), Vec::new(), Vec::new());
    let mut played = Played { phase: Phase::Opening, sent: 0, handshake, data, heard };
    let (mut waiting, mut overtook) = (Vec::new(), Vec::new());
    for input in inputs {
        played.handshake.clear();
        played.data.clear();
        match (input, played.phase) {
            (Input::Send, phase) => {
                let message = played.sent;
                played.sent += 1;
                match phase {
                    Phase::Opening if flight.push(&encoded(b'A', message)) => {}
                    Phase::Opening => waiting.push(message),
                    Phase::First => played.data.push(encoded(b'A', message)),
                    Phase::Second => played.data.push(encoded(b'B', message)),
                    Phase::Failed => {}
                }
            }
            (Input::Wait, _) => now += Duration::from_secs(3),
            (Input::Hear(message), phase) => {
                let (message, data) = match wire::parts(message) {
                    Some((answer, _)) if flaw == Flaw::LeavesTheData => (answer, None),
                    Some((answer, _)) => (answer, data_in(message)),
                    None => (&message[..], data_in(message)),
                };
                if phase == Phase::Opening {
                    match flight.handle(message) {
                        Ok(Flight::Confirmed { rest, .. }) => {
                            played.phase = Phase::First;
                            played.data = rest;
                            if flaw == Flaw::SendsAllAgain {
                                let flown = (0..played.sent).filter(|it| !waiting.contains(it));
                                played.data = flown.map(|it| encoded(b'A', it)).collect();
                            }
                            played.data.extend(waiting.drain(..).map(|it| encoded(b'A', it)));
                        }
                        Ok(Flight::Replaced(answer, _)) => {
                            played.phase = Phase::Second;
                            let stack = stack_of(&answer);
                            played.data = (0..played.sent).map(|it| encoded(stack, it)).collect();
                        }
                        Ok(_) => {}
                        Err(_) => played.phase = Phase::Failed,
                    }
                }
                overtook.extend(data.map(Vec::from));
            }
        }
        match played.phase {
            Phase::First | Phase::Second => played.heard.append(&mut overtook),
            Phase::Opening => {
                if let Ok(Some(message)) = flight.poll_transmit(now) {
                    played.handshake.push(message);
                }
            }
            Phase::Failed => {}
        }
    }
    played
}
