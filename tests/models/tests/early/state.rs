//! The states of the model, and the steps between them.

use super::client::{Input, Phase, Played, data, data_in, either, layer, play, stack_of, start, tickets};
use bertha_negotiation::Credentials;
use bertha_negotiation::testing::handshake::{
    AmplificationLimit, Decision, EarlyData, Freshness, ReplayFilter, Requirements, Terms, claim, decide,
};
use bertha_negotiation::testing::wire::{self, CLAIM, HEADER, Kind, LARGEST_JOINED};
use stateright::{Model, Property};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// A client, a server and a network between them.
#[derive(Debug, Clone)]
pub(crate) struct World {
    /// Number of messages that the client sends, and number of messages that may go with the offer.
    pub(crate) messages: u8,
    pub(crate) flight: usize,
    /// Largest number of arrivals of each handshake message.
    pub(crate) repeats: u8,
    /// Largest number of repetitions by the client.
    pub(crate) waits: usize,
    /// Largest number of connections that the server's application gives up.
    pub(crate) closes: u8,
    /// True if the server's application sends a message on each connection. Then the answer to a first flight
    /// waits for that message, for any time; and both are a single message, which is lost, delivered and
    /// repeated as a whole.
    pub(crate) speaks: bool,
    pub(crate) server: Server,
    /// The server's condition after a restart. It restarts once, before the client has received its answer;
    /// no message of its earlier life gets through after that.
    pub(crate) restarts_as: Option<Server>,
    pub(crate) flaw: Flaw,
}

/// The change of the server since the client remembered it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Server {
    AsExpected,
    /// The server has another stack now.
    Changed,
    /// The server takes nothing early.
    Strict,
    /// The server has nothing in common with the client any more.
    Stranger,
}

/// The fault that is put into the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    Nothing,
    /// The server does not remember which offers made a connection.
    NoMemory,
    /// The client sends messages again that the server has taken.
    SendsAllAgain,
    /// The server takes early messages with any claim of the client.
    ClaimIsNotCompared,
    /// The client takes the answer out of a message with an answer and data, and ignores the data.
    LeavesTheData,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    client: Vec<Input>,
    server: Server,
    has_restarted: bool,
    /// Handshake messages on their way, and the number of arrivals of each.
    to_server: BTreeMap<Vec<u8>, u8>,
    to_client: BTreeMap<Vec<u8>, u8>,
    /// Data on its way, which the network neither loses nor repeats.
    data: VecDeque<Vec<u8>>,
    connection: Option<Served>,
    remembered: Vec<[u8; 32]>,
    /// The messages that the server's application has received in this life, over all connections.
    received: Vec<u8>,
    closes: u8,
    takes_early: bool,
    refused: bool,
    wrong: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Served {
    offer: [u8; 32],
    reply: Vec<u8>,
    stack: u8,
    /// True if the answer waits for data to go with; and true if the application has yet to send.
    has_to_answer: bool,
    has_to_speak: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    Send,
    Wait,
    /// A handshake message arrives at the server, or at the client.
    ToServer(Vec<u8>),
    ToClient(Vec<u8>),
    /// The next data arrives.
    Data,
    /// The server's answer leaves without data.
    Answer,
    /// The server's application sends a message.
    Speak,
    /// The server's application gives its connection up.
    Close,
    Restart,
}

impl World {
    fn client(&self, state: &mut State, input: Input) {
        state.client.push(input);
        let played = play(&state.client, self.flight, self.flaw);
        for message in played.handshake {
            state.to_server.entry(message).or_default();
        }
        state.data.extend(played.data);
    }

    fn server(&self, state: &mut State, message: &[u8]) {
        let hash = |message: &[u8]| {
            let (offer, _) = wire::offer_in(message)?;
            let mut hash = [0; 32];
            hash[..4].copy_from_slice(&crc32fast::hash(offer).to_le_bytes());
            Some(hash)
        };
        let Some(offer) = hash(message) else { return };
        if let Some(served) = state.connection.as_ref().filter(|served| served.offer == offer) {
            let reply = served.reply.clone();
            state.to_client.entry(reply).or_default();
            return;
        }
        let is_flight = message[0] == Kind::Early as u8;
        let mut replay_filter = ReplayFilter::new(10, start());
        for struck in &state.remembered {
            replay_filter.insert(*struck, start());
        }
        let early_data =
            match (is_flight && state.server != Server::Strict, replay_filter.look_up(&offer, start())) {
                (false, _) | (_, Freshness::Full) => EarlyData::Refused,
                (true, Freshness::New) => EarlyData::AtOnce,
                (true, Freshness::Spent) => EarlyData::Spent,
            };
        let nodes = match state.server {
            Server::AsExpected | Server::Strict => either(),
            Server::Changed => layer("model::B"),
            Server::Stranger => layer("model::C"),
        };
        let message = match self.flaw {
            Flaw::ClaimIsNotCompared => {
                claiming(message, if nodes.len() == 1 { state.server } else { return })
            }
            _ => message.to_vec(),
        };
        let terms = Terms {
            idle_timeout: Duration::from_secs(30),
            credentials: &Credentials::default(),
            fresh: None,
            requirements: Requirements::OPEN,
            path: b"path",
            early_data,
            tickets: Some(&tickets(state.has_restarted)),
            now: start(),
            amplification_limit: AmplificationLimit::UNLIMITED,
        };
        match decide(&message, &nodes, &terms) {
            Decision::Accept(accepted) => {
                let stack = stack_of(&accepted.answer);
                if is_flight && state.server != Server::Strict && self.flaw != Flaw::NoMemory {
                    state.remembered.push(offer);
                }
                state.takes_early |= !accepted.early.is_empty();
                let has_to_answer = self.speaks && !accepted.early.is_empty();
                let (reply, has_to_speak) = (accepted.reply, self.speaks);
                if !has_to_answer {
                    state.to_client.entry(reply.clone()).or_default();
                }
                state.connection = Some(Served { offer, reply, stack, has_to_answer, has_to_speak });
                for message in accepted.early {
                    receive(state, &message);
                }
            }
            Decision::Refuse { reply, .. } => {
                state.refused = true;
                state.to_client.entry(reply).or_default();
            }
            _ => {}
        }
    }

    fn played(&self, state: &State) -> Played {
        play(&state.client, self.flight, self.flaw)
    }

    fn phase(&self, state: &State) -> (Phase, u8) {
        let played = self.played(state);
        (played.phase, played.sent)
    }
}

/// Lets the server's application send a message, which goes with the answer if the answer has not been sent.
fn speak(state: &mut State) {
    let number = state.closes;
    let Some(served) = state.connection.as_mut().filter(|served| served.has_to_speak) else { return };
    served.has_to_speak = false;
    let data = data(served.stack, number);
    let message = match std::mem::replace(&mut served.has_to_answer, false) {
        true => wire::join(&served.reply, &data, LARGEST_JOINED).unwrap(),
        false => data,
    };
    state.to_client.entry(message).or_default();
}

/// Lets the server's application receive a message.
fn receive(state: &mut State, message: &[u8]) {
    let Some(served) = &state.connection else { return };
    let &[stack, number] = message else { return };
    if stack != served.stack {
        state.wrong.get_or_insert("a message came over another stack than it was sent over");
    }
    if state.received.contains(&number) {
        state.wrong.get_or_insert("a message was received twice");
    }
    if state.received.last().is_some_and(|last| *last > number) {
        state.wrong.get_or_insert("a message overtook another");
    }
    state.received.push(number);
}

/// Returns a first flight with the claim that the server accepts.
fn claiming(message: &[u8], server: Server) -> Vec<u8> {
    let mut message = message.to_vec();
    if message[0] == Kind::Early as u8 {
        let server_picks: &[u8] = if server == Server::Changed { &[] } else { &[0] };
        let client_picks: &[u8] = if server == Server::Changed { &[1] } else { &[0] };
        let len = HEADER + 1;
        let at = len + 2 + usize::from(u16::from_le_bytes([message[len], message[len + 1]]));
        message[at..at + CLAIM].copy_from_slice(&claim(client_picks, server_picks, 30_000, &[]));
        let end = message.len() - 4;
        let check = crc32fast::hash(&message[..end]);
        message[end..].copy_from_slice(&check.to_le_bytes());
    }
    message
}

impl Model for World {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            client: Vec::new(),
            server: self.server,
            has_restarted: false,
            to_server: BTreeMap::new(),
            to_client: BTreeMap::new(),
            data: VecDeque::new(),
            connection: None,
            remembered: Vec::new(),
            received: Vec::new(),
            closes: 0,
            takes_early: false,
            refused: false,
            wrong: None,
        }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        let count = |input: &Input| state.client.iter().filter(|it| *it == input).count();
        if count(&Input::Send) < usize::from(self.messages) {
            steps.push(Step::Send);
        }
        if count(&Input::Wait) < self.waits {
            steps.push(Step::Wait);
        }
        let arriving = |messages: &BTreeMap<Vec<u8>, u8>| -> Vec<Vec<u8>> {
            messages.iter().filter(|(_, times)| **times < self.repeats).map(|(it, _)| it.clone()).collect()
        };
        steps.extend(arriving(&state.to_server).into_iter().map(Step::ToServer));
        steps.extend(arriving(&state.to_client).into_iter().map(Step::ToClient));
        if !state.data.is_empty() {
            steps.push(Step::Data);
        }
        if let Some(served) = &state.connection {
            steps.extend(served.has_to_answer.then_some(Step::Answer));
            steps.extend(served.has_to_speak.then_some(Step::Speak));
        }
        if state.connection.is_some() && state.closes < self.closes {
            steps.push(Step::Close);
        }
        if self.restarts_as.is_some() && !state.has_restarted && self.phase(state).0 == Phase::Opening {
            steps.push(Step::Restart);
        }
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut next = state.clone();
        match step {
            Step::Send => self.client(&mut next, Input::Send),
            Step::Wait => self.client(&mut next, Input::Wait),
            Step::ToServer(message) => {
                *next.to_server.get_mut(&message)? += 1;
                self.server(&mut next, &message);
            }
            Step::ToClient(message) => {
                *next.to_client.get_mut(&message)? += 1;
                if self.speaks || self.phase(state).0 == Phase::Opening {
                    self.client(&mut next, Input::Hear(message));
                }
            }
            Step::Data => {
                let message = next.data.pop_front()?;
                receive(&mut next, &message);
            }
            Step::Answer => {
                let served = next.connection.as_mut()?;
                served.has_to_answer = false;
                next.to_client.entry(served.reply.clone()).or_default();
            }
            Step::Speak => speak(&mut next),
            Step::Close => {
                next.closes += 1;
                // The end of a link sends the agreement first.
                if let Some(served) = next.connection.take().filter(|served| served.has_to_answer) {
                    next.to_client.entry(served.reply).or_default();
                }
            }
            Step::Restart => {
                (next.server, next.has_restarted) = (self.restarts_as?, true);
                (next.connection, next.closes) = (None, 0);
                next.remembered.clear();
                next.to_client.clear();
                next.received.clear();
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("nothing wrong happens", |_, state: &State| state.wrong.is_none()),
            // If nothing is on its way, nothing was given up, and both ends agree, everything has arrived.
            Property::always("nothing is lost", |world: &World, state: &State| {
                let (phase, sent) = world.phase(state);
                let is_over = state.data.is_empty() && state.closes == 0;
                let agree = matches!(phase, Phase::First | Phase::Second);
                !(is_over && agree) || state.received == (0..sent).collect::<Vec<_>>()
            }),
            Property::always("who has agreed stands on one stack", |world: &World, state: &State| {
                match (world.phase(state).0, &state.connection) {
                    (Phase::First, Some(served)) => served.stack == b'A',
                    (Phase::Second, Some(served)) => served.stack == b'B',
                    _ => true,
                }
            }),
            // The data are the server's, alone or behind an answer, as often as they arrive at a client that
            // has agreed.
            Property::always("what arrives is heard", |world: &World, state: &State| {
                let arrived =
                    |(message, times): (&Vec<u8>, &u8)| data_in(message).map(|_| usize::from(*times));
                let played = world.played(state);
                let agrees = matches!(played.phase, Phase::First | Phase::Second);
                !(world.speaks && agrees)
                    || played.heard.len() == state.to_client.iter().filter_map(arrived).sum::<usize>()
            }),
            Property::always("what is heard was said over the same stack", |world: &World, state: &State| {
                let played = world.played(state);
                let stack = if played.phase == Phase::First { b'A' } else { b'B' };
                played.heard.iter().all(|message| message.first() == Some(&stack))
            }),
            Property::sometimes("an answer comes with data", |world: &World, state: &State| {
                let joined =
                    |input: &Input| matches!(input, Input::Hear(message) if wire::parts(message).is_some());
                state.client.iter().any(joined) && !world.played(state).heard.is_empty()
            }),
            Property::sometimes("all is received", |world: &World, state: &State| {
                state.received.len() == usize::from(world.messages)
            }),
            Property::sometimes("messages are taken early", |_, state: &State| state.takes_early),
            Property::sometimes("the stack is replaced", |world: &World, state: &State| {
                world.phase(state).0 == Phase::Second && !state.received.is_empty()
            }),
            Property::sometimes("the server refuses", |_, state: &State| state.refused),
        ]
    }
}
