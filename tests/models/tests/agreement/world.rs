//! Two handshakes of a client and two of a server, between which the attacker carries, drops, repeats, alters
//! and makes messages.

use crate::protocol::{Answer, Flaw, Mode, Offer, Protocol, STACKS, offer_hash, pick, transcript};
use crate::terms::{Agent, Knowledge, Term};
use stateright::{Model, Property};

/// The attacker's own nonce and exponent.
const ATTACKERS: u8 = 9;

/// The attacker's own TLS connection to the server.
const ATTACKERS_TLS: u8 = 9;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct World {
    clients: [Client; 2],
    servers: [Server; 2],
    known: Knowledge,
}

/// A handshake of the client. It has the number of its nonce, exponent and TLS connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Client {
    New,
    Offered(Vec<Term>),
    /// The handshake has its answer, and with TLS waits for the binding.
    Agreed {
        transcript: Term,
        pick: &'static str,
        is_done: bool,
    },
}

/// A handshake of the server. It has the number of its nonce and exponent, less [`SERVERS`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Server {
    New,
    /// The server has answered.
    Answered {
        offer: Offer,
        transcript: Term,
        agreed: Option<Term>,
    },
    /// The client has confirmed, or with TLS has bound the connection with this number.
    Done {
        offer: Offer,
        transcript: Term,
        tls: Option<u8>,
    },
}

/// Number of the server's first nonce.
const SERVERS: u8 = 4;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    Start(usize),
    /// The attacker passes an offer to the server.
    OfferTo(usize, Offer),
    /// The attacker passes an answer to the client.
    AnswerTo(usize, Answer),
    Confirm(usize),
    /// The attacker passes a binding to the client over the client's TLS connection to the server.
    BindClient(usize),
    /// The attacker passes a binding to the server over the TLS connection with this number.
    BindServer(usize, u8),
}

impl Protocol {
    fn client_offer(self, number: usize) -> Offer {
        Offer {
            stacks: STACKS[0],
            nonce: number as u8,
            share: self.exchanges().then_some(number as u8),
            signer: (self.mode == Mode::Identities).then_some(Agent::Client),
        }
    }

    fn server_answer(self, number: usize, offer: &Offer) -> Answer {
        let own = SERVERS + number as u8;
        Answer {
            pick: pick(offer.stacks),
            nonce: own,
            share: offer.share.map(|_| own),
            signer: (self.exchanges() && offer.share.is_some()).then_some(Agent::Server),
        }
    }

    /// Returns all offers that differ for an honest server, made of fields that the attacker may have.
    fn offers(self, known: &Knowledge) -> Vec<Offer> {
        let mut offers = Vec::new();
        for stacks in STACKS {
            for nonce in [0, 1, ATTACKERS] {
                let shares =
                    if self.exchanges() { vec![Some(0), Some(1), Some(ATTACKERS)] } else { vec![None] };
                for share in shares {
                    let signers = match self.mode {
                        // Offers of other clients are refused before their signature is verified.
                        Mode::Identities => vec![Some(Agent::Client)],
                        _ => vec![None],
                    };
                    offers.extend(signers.into_iter().map(|signer| Offer { stacks, nonce, share, signer }));
                }
            }
        }
        offers.retain(|offer| self.offer(offer).iter().all(|term| known.makes(term)));
        offers
    }

    /// Returns all answers to the client's offer that it would believe, made of fields that the attacker may
    /// have.
    fn answers(self, number: usize, offer: &[Term], known: &Knowledge) -> Vec<Answer> {
        let mut answers = Vec::new();
        for pick in ["strong", "weak"] {
            for nonce in [SERVERS, SERVERS + 1, ATTACKERS] {
                let shares = if self.exchanges() {
                    vec![Some(SERVERS), Some(SERVERS + 1), Some(ATTACKERS), Some(0), Some(1)]
                } else {
                    vec![None]
                };
                for share in shares {
                    let signer = self.exchanges().then_some(Agent::Server);
                    answers.push(Answer { pick, nonce, share, signer });
                }
            }
        }
        let hash = offer_hash(offer);
        answers.retain(|answer| {
            let agreed = answer.share.map(|theirs| Term::agreed(number as u8, theirs));
            self.answer(answer, &hash, agreed).iter().all(|term| known.makes(term))
        });
        answers
    }
}

impl Model for Protocol {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let mut known = Knowledge::default();
        known.learn([
            Term::Nonce(ATTACKERS),
            Term::Exponent(ATTACKERS),
            Term::SigningKey(Agent::Attacker),
            Term::Exported(ATTACKERS_TLS),
        ]);
        vec![World { clients: [Client::New, Client::New], servers: [Server::New, Server::New], known }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        for (number, client) in world.clients.iter().enumerate() {
            match client {
                Client::New => actions.push(Action::Start(number)),
                Client::Offered(offer) => {
                    let answers = self.answers(number, offer, &world.known);
                    actions.extend(answers.into_iter().map(|answer| Action::AnswerTo(number, answer)));
                }
                Client::Agreed { transcript, is_done: false, .. } => {
                    let binding = self.binding(number as u8, "server", transcript);
                    if binding.is_none_or(|binding| world.known.makes(&binding)) {
                        actions.push(Action::BindClient(number));
                    }
                }
                Client::Agreed { .. } => {}
            }
        }
        for (number, server) in world.servers.iter().enumerate() {
            match server {
                Server::New => {
                    let offers = self.offers(&world.known);
                    actions.extend(offers.into_iter().map(|offer| Action::OfferTo(number, offer)));
                }
                Server::Answered { transcript, .. } if self.mode == Mode::Tls => {
                    for tls in [0, 1, ATTACKERS_TLS] {
                        let binding = self.binding(tls, "client", transcript);
                        let is_used = world
                            .servers
                            .iter()
                            .any(|it| matches!(it, Server::Done { tls: Some(it), .. } if *it == tls));
                        if !is_used && binding.is_none_or(|binding| world.known.makes(&binding)) {
                            actions.push(Action::BindServer(number, tls));
                        }
                    }
                }
                Server::Answered { transcript, agreed, .. } => {
                    if world.known.makes(&self.confirm(transcript, agreed.clone())) {
                        actions.push(Action::Confirm(number));
                    }
                }
                Server::Done { .. } => {}
            }
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        match action {
            Action::Start(number) => {
                let offer = self.offer(&self.client_offer(number));
                next.known.learn(offer.clone());
                next.clients[number] = Client::Offered(offer);
            }
            Action::OfferTo(number, offer) => {
                let sent = self.offer(&offer);
                let answer = self.server_answer(number, &offer);
                let agreed = offer.share.map(|theirs| Term::agreed(SERVERS + number as u8, theirs));
                let reply = self.answer(&answer, &offer_hash(&sent), agreed.clone());
                let transcript = transcript(&sent, &reply);
                next.known.learn(reply);
                if self.mode == Mode::Tls {
                    // The server tells which transcript it has over whichever TLS connection reaches this
                    // handshake.
                    next.known.learn(
                        [0, 1, ATTACKERS_TLS]
                            .iter()
                            .filter_map(|tls| self.binding(*tls, "server", &transcript)),
                    );
                }
                next.servers[number] = Server::Answered { offer, transcript, agreed };
            }
            Action::AnswerTo(number, answer) => {
                let Client::Offered(offer) = &world.clients[number] else { return None };
                let agreed = answer.share.map(|theirs| Term::agreed(number as u8, theirs));
                let reply = self.answer(&answer, &offer_hash(offer), agreed.clone());
                let transcript = transcript(offer, &reply);
                next.known.learn([self.confirm(&transcript, agreed)]);
                next.known.learn(self.binding(number as u8, "client", &transcript));
                let is_done = self.mode != Mode::Tls;
                next.clients[number] = Client::Agreed { transcript, pick: answer.pick, is_done };
            }
            Action::Confirm(number) | Action::BindServer(number, _) => {
                let Server::Answered { offer, transcript, .. } = world.servers[number].clone() else {
                    return None;
                };
                let tls = if let Action::BindServer(_, tls) = action { Some(tls) } else { None };
                next.servers[number] = Server::Done { offer, transcript, tls };
            }
            Action::BindClient(number) => {
                if let Client::Agreed { is_done, .. } = &mut next.clients[number] {
                    *is_done = true;
                }
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("a client that is done agrees with a server", |_, world: &World| {
                world.clients.iter().all(|client| match client {
                    Client::Agreed { transcript, is_done: true, .. } => {
                        world.servers.iter().any(|server| server.has(transcript))
                    }
                    _ => true,
                })
            }),
            Property::always("nobody leads a client to a weaker stack", |_, world: &World| {
                let is_weaker =
                    |client: &Client| matches!(client, Client::Agreed { pick: "weak", is_done: true, .. });
                !world.clients.iter().any(is_weaker)
            }),
            Property::always(
                "a server that is done agrees with a client, unless it takes any",
                |protocol: &Protocol, world: &World| {
                    world.servers.iter().all(|server| match server {
                        Server::Done { transcript, .. }
                            if protocol.mode != Mode::ServerIdentity && !server.is_attackers() =>
                        {
                            world.clients.iter().any(|client| client.has(transcript))
                        }
                        _ => true,
                    })
                },
            ),
            Property::always("no handshake of the client makes two connections", |_, world: &World| {
                let [one, other] = &world.servers;
                match (one, other) {
                    (Server::Done { transcript: one, .. }, Server::Done { transcript: other, .. }) => {
                        one != other
                    }
                    _ => true,
                }
            }),
            Property::sometimes("both handshakes come to an end", |_, world: &World| {
                let is_done = |client: &Client| matches!(client, Client::Agreed { is_done: true, .. });
                let is_answered = |server: &Server| matches!(server, Server::Done { .. });
                world.clients.iter().all(is_done) && world.servers.iter().all(is_answered)
            }),
        ]
    }
}

impl Client {
    fn has(&self, of_server: &Term) -> bool {
        matches!(self, Self::Agreed { transcript, .. } if transcript == of_server)
    }
}

impl Server {
    fn has(&self, of_client: &Term) -> bool {
        match self {
            Self::New => false,
            Self::Answered { transcript, .. } | Self::Done { transcript, .. } => transcript == of_client,
        }
    }

    /// Returns true if the attacker has made the offer itself, openly, over its own TLS connection, as any
    /// client could.
    fn is_attackers(&self) -> bool {
        matches!(self, Self::Done { tls: Some(ATTACKERS_TLS), .. })
    }
}

impl Protocol {
    pub(crate) fn new(mode: Mode, flaw: Flaw) -> Self {
        Self { mode, flaw }
    }
}
