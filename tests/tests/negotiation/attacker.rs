//! An attacker on the wire, which sees every message and may do anything except guess keys. It keeps messages
//! that it has seen, of this connection and of earlier connections, and makes new messages of their fields.

use crate::scene::server_addr;
use crate::splices::{repair, splice};
use bertha_core::Role;
use bertha_datapath_sim::{Datagram, Network, Verdict};
use bertha_negotiation::testing::wire::{
    self, Answer, COOKIE, Close, Confirm, HEADER, Kind, LARGEST_JOINED, Offer, Refusal, RefusalKind, Retry,
    Tag, Upgrade, UpgradeStep,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::{Arc, Mutex};

/// The deeds of an attacker. Each field is the percentage of datagrams with that deed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Habits {
    pub(crate) drop: u64,
    pub(crate) hold: u64,
    pub(crate) replay: u64,
    pub(crate) edit: u64,
    pub(crate) invent: u64,
}

impl Habits {
    /// Returns habits whose strength depends on the seed.
    pub(crate) fn of(seed: u64) -> Self {
        let strength = 3 + seed % 5 * 6;
        Self { drop: strength, hold: strength, replay: strength * 2, edit: strength, invent: strength * 2 }
    }
}

pub(crate) struct Attacker {
    dice: u64,
    habits: Habits,
    is_active: bool,
    /// True if the attacker lets the application's data pass untouched.
    spares_data: bool,
    network: Network,
    seen: Vec<Datagram>,
    held: Vec<Datagram>,
    /// The confirmations of the attacked client. `is_confirmed` is true if a confirmation has reached the
    /// server.
    confirmations: Vec<Vec<u8>>,
    is_confirmed: bool,
    id: u64,
}

/// Number of datagrams that the attacker remembers.
const MEMORY: usize = 256;

impl Attacker {
    /// Makes an attacker that listens from now on, and attacks once [`attack`](Self::attack) says so.
    pub(crate) fn tap(network: &Network, seed: u64, habits: Habits) -> Arc<Mutex<Self>> {
        let attacker = Arc::new(Mutex::new(Self {
            dice: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            habits,
            is_active: false,
            spares_data: false,
            network: network.clone(),
            seen: Vec::new(),
            held: Vec::new(),
            confirmations: Vec::new(),
            is_confirmed: false,
            id: 0,
        }));
        let tapped = attacker.clone();
        network.tap(move |datagram| tapped.lock().unwrap().handle(datagram));
        attacker
    }

    pub(crate) fn attack(&mut self, is_active: bool) {
        self.is_active = is_active;
        self.held.clear();
    }

    /// Restricts the attack to the messages of the negotiation. Data that is lost or repeated was then lost
    /// or repeated by the two ends themselves.
    pub(crate) fn spare_data(&mut self) {
        self.spares_data = true;
    }

    /// Returns true if the attacked client has sent confirmations, and the attacker has kept all of them from
    /// the server.
    pub(crate) fn is_confirmation_lost(&self) -> bool {
        !self.confirmations.is_empty() && !self.is_confirmed
    }

    fn roll(&mut self, bound: u64) -> u64 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        (self.dice >> 11) % bound
    }

    fn does(&mut self, percent: u64) -> bool {
        self.roll(100) < percent
    }

    fn handle(&mut self, datagram: &mut Datagram) -> Verdict {
        if self.is_active && datagram.payload.first() == Some(&(Kind::Confirm as u8)) {
            self.confirmations.push(datagram.payload.clone());
        }
        let verdict = self.mistreat(datagram);
        if matches!(verdict, Verdict::Pass) {
            self.is_confirmed |= self.confirmations.contains(&datagram.payload);
        }
        verdict
    }

    fn mistreat(&mut self, datagram: &mut Datagram) -> Verdict {
        if let Some((offer, _)) = wire::offer_in(&datagram.payload)
            && let Ok((id, _)) = postcard::take_from_bytes(&offer[HEADER + 1..])
        {
            self.id = id;
        }
        if self.spares_data && is_data(&datagram.payload) {
            return Verdict::Pass;
        }
        if self.seen.len() < MEMORY {
            self.seen.push(datagram.clone());
        } else if self.spares_data {
            // The latest datagrams may still have an effect, so they replace older datagrams.
            let at = self.roll(MEMORY as u64) as usize;
            self.seen[at] = datagram.clone();
        }
        if !self.is_active {
            return Verdict::Pass;
        }
        if self.does(self.habits.invent) {
            let invented = Datagram { payload: self.invent(), ..datagram.clone() };
            self.say(&invented);
        }
        if self.does(self.habits.invent) {
            let [one, other] = [(); 2].map(|()| {
                let at = self.roll(self.seen.len() as u64) as usize;
                self.seen[at].payload.clone()
            });
            let spliced =
                Datagram { payload: splice(&one, &other, |bound| self.roll(bound)), ..datagram.clone() };
            // Behind an answer stands data, which a splice alters: nothing protects that below a secure Chunnel.
            if !self.spares_data || spliced.payload.first() != Some(&(Kind::AnswerAndData as u8)) {
                self.say(&spliced);
            }
        }
        if self.does(self.habits.replay) {
            let at = self.roll(self.seen.len() as u64) as usize;
            self.say(&self.seen[at].clone());
        }
        if self.does(self.habits.hold) {
            let late = std::mem::replace(datagram, Datagram { payload: Vec::new(), ..datagram.clone() });
            self.held.push(late);
            if self.held.len() < 3 {
                return Verdict::Drop;
            }
            let at = self.roll(3) as usize;
            *datagram = self.held.swap_remove(at);
        }
        if self.does(self.habits.drop) {
            return Verdict::Drop;
        }
        if self.does(self.habits.edit) {
            self.edit(&mut datagram.payload);
        }
        Verdict::Pass
    }

    /// Sends a datagram under a forged address to either end.
    fn say(&mut self, datagram: &Datagram) {
        self.is_confirmed |= self.confirmations.contains(&datagram.payload);
        let _ = self.network.inject(datagram);
        // The payload goes to the other end too.
        let back = Datagram { from: datagram.to, to: datagram.from, payload: datagram.payload.clone() };
        if back.from == server_addr().ip("attack").unwrap() {
            let _ = self.network.inject(&back);
        }
    }

    fn edit(&mut self, payload: &mut Vec<u8>) {
        if payload.len() < HEADER + 6 || payload[0] == 0 {
            return;
        }
        let len = payload.len() as u64;
        match self.roll(6) {
            // The first bytes hold ids, picks and lengths.
            0 | 1 => {
                let at = HEADER + 1 + self.roll((len - HEADER as u64 - 5).min(30)) as usize;
                payload[at] = self.roll(4) as u8;
            }
            2 => {
                let at = self.roll(len - 4) as usize;
                payload[at] ^= 1 << self.roll(8);
            }
            3 => strip(payload),
            4 => payload[HEADER] ^= 0x80,
            _ => {
                let keep = HEADER + 1 + self.roll(len - HEADER as u64 - 4) as usize;
                payload.truncate(keep);
                payload.extend([0; 4]);
            }
        }
        repair(payload);
    }

    /// Makes a message that no end has sent, about the connection that is being made.
    fn invent(&mut self) -> Vec<u8> {
        let (id, tag) = (self.id, Tag::of(self.id));
        let number = self.roll(u64::MAX);
        let sender = if number.is_multiple_of(2) { Role::Client } else { Role::Server };
        let message = match self.roll(14) {
            0 => wire::encode(Kind::Answer, tag, &answer(id, None)),
            1 => wire::encode(Kind::Answer, tag, &answer(id, Some(number))),
            2 => {
                let (kind, text) = (RefusalKind::Incompatible, "try something weaker".into());
                wire::encode(Kind::Refusal, tag, &Refusal { id, kind, text })
            }
            3 => wire::encode_from(sender, Kind::Close, tag, &Close { id, failure: "no".into() }),
            4 => wire::encode(Kind::Confirm, tag, &Confirm { id, number }),
            5 => wire::encode(Kind::Retry, tag, &Retry { id, cookie: [number as u8; COOKIE] }),
            6 => wire::encode(Kind::Offer, tag, &Offer::new(id, &[]).unwrap()),
            7 => wire::encode_from(Role::Server, Kind::Reset, tag, &[number as u8; 16]),
            8 => wire::encode(Kind::Answer, tag, &answer(id, None)).map(|answer| {
                let data = [&tag.header(Kind::Data)[..], b"forged"].concat();
                wire::join(&answer, &data, LARGEST_JOINED).unwrap()
            }),
            9 => wire::encode_from(Role::Server, Kind::Reset, tag, &()),
            10..13 => wire::encode_from(sender, Kind::Upgrade, tag, &self.invent_upgrade()),
            _ => wire::encode_from(sender, Kind::CloseSeen, tag, &()),
        };
        let mut message = message.unwrap();
        // Sometimes the message looks as if it had a proof.
        if message.len() > HEADER && self.roll(2) == 0 {
            message.truncate(message.len() - 4);
            message[HEADER] |= 0x80;
            let proof = self.roll(120);
            message.extend((0..proof + 4).map(|_| self.roll(3) as u8));
            repair(&mut message);
        }
        message
    }

    /// Makes a step of a change of stacks that may be under way.
    fn invent_upgrade(&mut self) -> Upgrade {
        let (id, number) = (self.id, self.roll(200));
        let step = match self.roll(6) {
            0 => UpgradeStep::Propose { offer: Offer::new(id, &[]).unwrap() },
            1 => {
                let (proposer_picks, own_picks, reasons) = (vec![1], vec![1], String::new());
                UpgradeStep::Accept {
                    is_ready: number.is_multiple_of(2),
                    proposer_picks,
                    own_picks,
                    reasons,
                    capabilities: Vec::new(),
                }
            }
            2 => UpgradeStep::Decline { next: number / 8, text: "no".into() },
            3 => UpgradeStep::Abort,
            4 => UpgradeStep::Begin { sent: number },
            _ => UpgradeStep::BeginSeen,
        };
        let round = match self.roll(8) {
            0 => u64::MAX - self.roll(2),
            _ => self.roll(12),
        };
        Upgrade { id, round, step }
    }
}

/// Returns true if the payload is data of the application, in any epoch.
fn is_data(payload: &[u8]) -> bool {
    payload.first().is_some_and(|first| *first == Kind::Data as u8 || *first >= 0x80)
}

/// Makes an answer with the weaker of two stacks.
fn answer(id: u64, confirm: Option<u64>) -> Answer {
    let (stack, reasons) = ("B".into(), String::new());
    Answer {
        id,
        client_picks: vec![1],
        server_picks: vec![1],
        idle_ms: 30_000,
        confirm,
        early: 0,
        ticket: None,
        stack,
        reasons,
        capabilities: Vec::new(),
    }
}

/// Takes the proof off.
fn strip(payload: &mut Vec<u8>) {
    match wire::header(payload) {
        Some((kind @ Kind::Offer, tag)) => strip_from::<Offer>(payload, kind, tag),
        Some((kind @ Kind::Answer, tag)) => strip_from::<Answer>(payload, kind, tag),
        Some((kind @ Kind::Refusal, tag)) => strip_from::<Refusal>(payload, kind, tag),
        _ => {}
    }
}

fn strip_from<M: Serialize + DeserializeOwned>(payload: &mut Vec<u8>, kind: Kind, tag: Tag) {
    if let Ok((message, _)) = postcard::take_from_bytes::<M>(&payload[HEADER + 1..]) {
        *payload = wire::encode(kind, tag, &message).unwrap();
    }
}
