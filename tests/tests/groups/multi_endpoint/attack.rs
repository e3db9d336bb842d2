//! A group with an attacker on the wire. Nothing in a group is authenticated. An attacker that can send to a
//! group can speak for another participant, make a change miss messages or wait for messages, and have its
//! own messages delivered. Even so, no participant panics or hangs, and the store alone decides which stack
//! is in force. Once the attacker is gone, every message that is sent arrives.

use crate::multi_endpoint::crowd::{Crowd, Dice};
use crate::multi_endpoint::history::{LEN, of_bytes, to_bytes};
use crate::multi_endpoint::seeds::with_seeds;
use bertha_chunnels::{Batch, Nothing, ReceiverOrdered, SequencerOrdered};
use bertha_core::{Buf, Connection, ErrorKind, Runtime, make_stack, select};
use bertha_datapath_sim::{Datagram, Network, SimGroup, SimTask, Verdict};
use bertha_negotiation::Pick;
use bertha_negotiation::rendezvous::{MultiEndpoint, Rendezvous, RunsAmong};
use bertha_negotiation::testing::wire::{self, GROUP_HEADER, HEADER, Kind, PeerProgress};
use futures_util::future::{join, select as first_of};
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The deeds of the attacker. Each field is the percentage of datagrams with that deed.
#[derive(Clone, Copy)]
pub(crate) struct Habits {
    pub(crate) drop: u64,
    pub(crate) hold: u64,
    pub(crate) replay: u64,
    /// Changes bytes, and corrects the check of messages that have a check.
    pub(crate) edit: u64,
    /// Sends false progress reports of a participant.
    pub(crate) invent: u64,
}

/// Drops, holds back, repeats, edits and invents messages while the returned switch is on.
pub(crate) fn attack(network: &Network, seed: u64, habits: Habits) -> Arc<AtomicBool> {
    let is_active = Arc::new(AtomicBool::new(false));
    let (switch, tapped) = (is_active.clone(), network.clone());
    let mut dice = Dice::new(seed + 7);
    let (mut seen, mut held) = (Vec::<Datagram>::new(), Vec::<Datagram>::new());
    network.tap(move |datagram| {
        match seen.len() {
            0..256 => seen.push(datagram.clone()),
            _ => seen[dice.roll(256) as usize] = datagram.clone(),
        }
        if !switch.load(Ordering::Relaxed) {
            held.clear();
            return Verdict::Pass;
        }
        let mut does = |percent| dice.roll(100) < percent;
        let (invents, replays, holds) = (does(habits.invent), does(habits.replay), does(habits.hold));
        let (drops, edits) = (does(habits.drop), does(habits.edit));
        if invents && let Some(progress) = invented(&mut dice, &seen) {
            tapped.inject(&Datagram { payload: progress, ..datagram.clone() }).unwrap();
        }
        if replays {
            let old = &seen[dice.roll(seen.len() as u64) as usize];
            tapped.inject(&Datagram { payload: old.payload.clone(), ..datagram.clone() }).unwrap();
        }
        if holds {
            held.push(datagram.clone());
            if held.len() < 4 {
                return Verdict::Drop;
            }
            datagram.payload = held.swap_remove(dice.roll(4) as usize).payload;
        }
        if drops {
            return Verdict::Drop;
        }
        if edits && !datagram.payload.is_empty() {
            edit(&mut dice, &mut datagram.payload);
        }
        Verdict::Pass
    });
    is_active
}

fn edit(dice: &mut Dice, payload: &mut Vec<u8>) {
    let len = payload.len() as u64;
    match dice.roll(4) {
        0 => payload.truncate(dice.roll(len) as usize),
        // The header holds the round, the number and the sender.
        1 => payload[dice.roll(len.min(GROUP_HEADER as u64)) as usize] ^= 1 << dice.roll(8),
        2 => payload[dice.roll(len) as usize] = dice.roll(256) as u8,
        _ => payload.extend((0..dice.roll(40)).map(|byte| byte as u8)),
    }
    if payload.first() == Some(&(Kind::PeerProgress as u8)) && payload.len() >= 8 {
        let end = payload.len() - 4;
        let check = crc32fast::hash(&payload[..end]);
        payload[end..].copy_from_slice(&check.to_le_bytes());
    }
}

/// Makes a progress report from an earlier report of a participant, with other numbers.
fn invented(dice: &mut Dice, seen: &[Datagram]) -> Option<Vec<u8>> {
    let said = |datagram: &Datagram| match wire::header(&datagram.payload) {
        Some((Kind::PeerProgress, tag)) => {
            let (progress, proof) =
                postcard::take_from_bytes::<PeerProgress>(datagram.payload.get(HEADER + 1..)?).ok()?;
            Some((tag, progress, proof.to_vec()))
        }
        _ => None,
    };
    let known: Vec<_> = seen.iter().filter_map(said).collect();
    let (tag, mut progress, proof) = known.get(dice.roll(known.len().max(1) as u64) as usize)?.clone();
    match dice.roll(6) {
        0 => progress.round = progress.round.wrapping_add(dice.roll(5)).wrapping_sub(2),
        1 => progress.round = u64::MAX - dice.roll(3),
        2 => progress.sender = dice.roll(u64::MAX),
        3 => progress.life = dice.roll(u64::MAX),
        4 => progress.asks = true,
        _ => {}
    }
    if let Some(before) = &mut progress.before {
        match dice.roll(3) {
            0 => before.sent = Some(dice.roll(1 << 32) as u32),
            1 => before.sent = None,
            _ => {}
        }
    }
    let mut invented = wire::encode(Kind::PeerProgress, tag, &progress).ok()?;
    // The report keeps the proof of the earlier report, if that had a proof.
    if proof.len() > 4 && dice.roll(4) > 0 {
        invented.truncate(invented.len() - 4);
        invented[HEADER] |= 0x80;
        let number = invented.len();
        invented.extend(proof);
        // The report has a number that was not taken yet, so only the MAC is wrong.
        if dice.roll(2) > 0 {
            invented[number + 2] ^= 1 + dice.roll(255) as u8;
        }
        let end = invented.len() - 4;
        let check = crc32fast::hash(&invented[..end]);
        invented[end..].copy_from_slice(&check.to_le_bytes());
    }
    Some(invented)
}

/// The messages that each participant received, by the participant's number.
type Received = Arc<Mutex<BTreeMap<u32, Vec<(u32, u32)>>>>;

/// Receives all messages, until the connection has ended.
async fn listen<C: Connection<Data = Buf>>(
    number: u32,
    connection: Arc<MultiEndpoint<C>>,
    received: Received,
    crowd: Crowd,
) {
    loop {
        match connection.recv().await {
            Ok(message) if message.len() == LEN => {
                received.lock().unwrap().entry(number).or_default().push(of_bytes(&message));
            }
            // The message is forged.
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Closed => return,
            Err(_) => crowd.pause(Duration::from_micros(100)).await,
        }
    }
}

/// Has three participants talk and change their stack under attack. Then the attacker goes, and a fourth
/// participant comes.
async fn besieged<S, C>(crowd: &Crowd, stack: impl Fn() -> S, seed: u64, habits: Habits)
where
    S: Rendezvous + 'static,
    SimGroup: RunsAmong<S, Out = C>,
    C: Connection<Data = Buf>,
{
    const MARK: u32 = 1 << 20;
    let runtime = crowd.network.runtime();
    let received = Received::default();
    let mut tasks: Vec<SimTask> = Vec::new();
    let mut members = Vec::new();
    let is_active = attack(&crowd.network, seed, habits);
    let mut join = async |number| {
        let connection = Arc::new(crowd.join(number, stack()).await.unwrap());
        tasks.push(runtime.spawn(listen(number, connection.clone(), received.clone(), crowd.clone())));
        connection
    };
    for number in 0..3 {
        members.push(join(number).await);
    }
    is_active.store(true, Ordering::Relaxed);
    let mut dice = Dice::new(seed);
    for turn in 0..12 {
        for (number, member) in members.iter().enumerate() {
            for message in 0..3 {
                let bytes = to_bytes((number as u32, turn * 3 + message));
                let _ = member.send(Buf::copy_of(&bytes, 40).unwrap()).await;
            }
        }
        if turn % 4 == 2 {
            let who = dice.roll(3) as usize;
            let asked = members[who].upgrade(Pick::alternative(dice.roll(2) as usize)).await;
            // Forged reports can hold up the earlier change for as long as it may take, so this change may
            // not be staged in time.
            let may_be = |error: &bertha_core::Error| error.kind() == ErrorKind::Refused;
            assert!(asked.as_ref().err().is_none_or(may_be), "seed {seed}: {asked:?}");
        }
        crowd.pause(Duration::from_millis(2)).await;
    }
    is_active.store(false, Ordering::Relaxed);
    // The pause is longer than a change waits for messages that forged reports promise.
    crowd.pause(Duration::from_secs(15)).await;
    members.push(join(3).await);
    crowd.pause(Duration::from_secs(15)).await;
    let explain =
        |member: &Arc<MultiEndpoint<C>>| member.explain().chunnels().map(String::from).collect::<Vec<_>>();
    let rounds: Vec<u64> = members.iter().map(|member| member.explain().round()).collect();
    assert!(rounds.windows(2).all(|two| two[0] == two[1]), "seed {seed}: not in one round: {rounds:?}");
    assert!(members.windows(2).all(|two| explain(&two[0]) == explain(&two[1])), "seed {seed}");
    // Forged reports have no effect in a new round.
    let to = usize::from(members[0].explain().picks()[0] == 0);
    members[0].upgrade(Pick::alternative(to)).await.unwrap();
    crowd.pause(Duration::from_secs(15)).await;
    received.lock().unwrap().clear();
    for (number, member) in members.iter().enumerate() {
        for message in 0..5 {
            let bytes = to_bytes((number as u32, MARK + message));
            member.send(Buf::copy_of(&bytes, 40).unwrap()).await.unwrap();
        }
    }
    crowd.pause(Duration::from_secs(5)).await;
    let received = received.lock().unwrap();
    for receiver in 0..4 {
        for sender in (0..4).filter(|sender| *sender != receiver) {
            let all = received.get(&receiver).into_iter().flatten();
            let numbers: Vec<u32> = all.filter(|it| it.0 == sender).map(|it| it.1).collect();
            assert_eq!(numbers, (MARK..MARK + 5).collect::<Vec<_>>(), "seed {seed}: {receiver} of {sender}");
        }
    }
}

fn habits(seed: u64) -> Habits {
    let strength = 2 + seed % 5 * 6;
    Habits { drop: strength, hold: strength, replay: strength, edit: strength, invent: strength * 2 }
}

#[test]
fn an_attacker_parts_no_group_and_outlives_no_change() {
    with_seeds(60, async |crowd, seed| {
        besieged(crowd, || make_stack!(select!(Nothing, Batch::new())), seed, habits(seed)).await;
    });
}

#[test]
fn nor_a_group_whose_chunnels_keep_state_of_each_other() {
    with_seeds(30, async |crowd, seed| {
        let stack = || make_stack!(select!(ReceiverOrdered::new(), SequencerOrdered::new()));
        besieged(crowd, stack, seed, habits(seed)).await;
    });
}

/// Records the application's last message.
fn last_message(network: &Network) -> Arc<Mutex<Option<Datagram>>> {
    let last = Arc::<Mutex<Option<Datagram>>>::default();
    let record = last.clone();
    network.tap(move |datagram| {
        if let Some((Kind::GroupData, _)) = wire::header(&datagram.payload) {
            record.lock().unwrap().replace(datagram.clone());
        }
        Verdict::Pass
    });
    last
}

/// Makes a false message in the name of the sender of `genuine`, for a round that comes `rounds` rounds
/// later.
fn ahead(genuine: &Datagram, rounds: u64) -> Datagram {
    let mut forged = genuine.clone();
    let header = u64::from_le_bytes(*genuine.payload.first_chunk().unwrap());
    // The tag is behind the byte of the kind.
    forged.payload[..HEADER].copy_from_slice(&(header + (rounds << 8)).to_le_bytes());
    forged.payload.truncate(GROUP_HEADER);
    forged.payload.extend(b"lie");
    forged
}

#[test]
fn messages_for_rounds_that_nobody_knows_take_bounded_room() {
    with_seeds(3, async |crowd, seed| {
        const LIES: u64 = 5000;
        let last = last_message(&crowd.network);
        let one = crowd.join(1, make_stack!(Nothing)).await.unwrap();
        let two = crowd.join(2, make_stack!(Nothing)).await.unwrap();
        one.send(Buf::copy_of(b"now", 40).unwrap()).await.unwrap();
        assert_eq!(*two.recv().await.unwrap(), *b"now");
        let genuine = last.lock().unwrap().take().unwrap();
        let before = two.dropped();
        for rounds in 1..=LIES {
            crowd.network.inject(&ahead(&genuine, rounds)).unwrap();
        }
        crowd.pause(Duration::from_millis(10)).await;
        one.send(Buf::copy_of(b"then", 40).unwrap()).await.unwrap();
        assert_eq!(*two.recv().await.unwrap(), *b"then", "seed {seed}");
        // The participant keeps at most 1,024 messages.
        assert!(two.dropped() - before >= LIES - 1024, "seed {seed}: {}", two.dropped() - before);
    });
}

/// Tags of rounds follow each other, so an attacker can send a message for a round to come. If receivers kept
/// the message until the round begins, a position far in the future would have them skip all messages before
/// it.
#[test]
fn nobody_is_heard_in_a_round_that_begins_long_after() {
    with_seeds(10, async |crowd, seed| {
        let stack = || make_stack!(select!(Batch::new(), Nothing));
        let last = last_message(&crowd.network);
        let one = crowd.join(1, stack()).await.unwrap();
        let two = crowd.join(2, stack()).await.unwrap();
        one.send(Buf::copy_of(b"now", 40).unwrap()).await.unwrap();
        assert_eq!(*two.recv().await.unwrap(), *b"now");
        let genuine = last.lock().unwrap().take().unwrap();
        for rounds in 1..8 {
            crowd.network.inject(&ahead(&genuine, rounds)).unwrap();
        }
        let listening = async { while one.recv().await.is_ok() {} };
        let asking = async {
            let hearing = async { (two.recv().await.unwrap(), two.recv().await.unwrap()) };
            let saying = async {
                crowd.pause(Duration::from_secs(6)).await;
                one.upgrade(Pick::alternative(1)).await.unwrap();
                for _ in 0..2 {
                    one.send(Buf::copy_of(b"then", 40).unwrap()).await.unwrap();
                }
                crowd.pause(Duration::from_millis(50)).await;
            };
            let ((first, second), ()) = join(hearing, saying).await;
            assert_eq!((&*first, &*second), (&b"then"[..], &b"then"[..]), "seed {seed}");
        };
        first_of(pin!(asking), pin!(listening)).await;
    });
}
