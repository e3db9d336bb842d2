//! Crashes, lost stores, and participants that break the protocol.

use super::counting::Counting;
use super::hindered::{Fate, Hindered};
use super::scene::{Stack, X, Z, everywhere, xy, xyz};
use bertha_core::{BoxFuture, ErrorKind, make_stack};
use bertha_negotiation::rendezvous::member::record::{self, RECORD};
use bertha_negotiation::rendezvous::member::{Recorded, View};
use bertha_negotiation::rendezvous::{Event, RendezvousStore, Transaction};
use futures_util::future::{join, join_all, select};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn an_upgrade_goes_on_without_who_vanishes() {
    everywhere(async |scene, _| {
        let mut first = scene.join(&xy()).await;
        let mut second = scene.join(&xy()).await;
        let mut third = scene.join(&xy()).await;
        first.participant.propose([1]).await.unwrap();
        third.until_asked().await;
        drop(third);
        join(first.uses("Y"), second.uses("Y")).await;
    });
}

#[test]
fn an_upgrade_goes_on_without_its_proposer() {
    everywhere(async |scene, _| {
        let first = scene.join(&xy()).await;
        let mut second = scene.join(&xy()).await;
        let mut third = scene.join(&xy()).await;
        first.participant.propose([1]).await.unwrap();
        let Event::Stage { round, .. } = third.until_asked().await else { unreachable!() };
        drop(first);
        third.participant.staged(round).await.unwrap();
        join(second.uses("Y"), third.uses("Y")).await;
    });
}

#[test]
fn a_dead_store_stops_newcomers_and_harms_nobody_inside() {
    everywhere(async |scene, memory| {
        let mut inside = Vec::new();
        for _ in 0..3 {
            inside.push(scene.join(&xy()).await);
        }
        let round = inside[0].active.round;
        scene.store.cut.store(true, Ordering::Relaxed);
        let lost = |event: &Event| matches!(event, Event::StoreLost { kind: ErrorKind::Unreachable, .. });
        join_all(inside.iter_mut().map(|one| one.until(lost))).await;
        let newcomer = scene.try_join(&xy()).await;
        assert_eq!(newcomer.map(|_| ()).unwrap_err().kind(), ErrorKind::Unreachable);
        // The store comes back without its data, long after every lease has expired.
        scene.pause(Duration::from_secs(10)).await;
        memory.clear();
        scene.store.cut.store(false, Ordering::Relaxed);
        join_all(inside.iter_mut().map(|one| one.until(|event| matches!(event, Event::Joined(_))))).await;
        for one in &inside {
            assert_eq!(one.active.stack.to_string(), "X");
            assert!(one.active.round > round, "no round is used twice");
            assert_eq!(one.active.life, inside[0].active.life);
        }
        inside[0].participant.propose([1]).await.unwrap();
        join_all(inside.iter_mut().map(|one| one.uses("Y"))).await;
        let newcomer = scene.join(&xy()).await;
        assert_eq!(newcomer.active.stack.to_string(), "Y");
    });
}

#[test]
fn who_was_cut_off_comes_back_to_what_the_others_agreed_on() {
    everywhere(async |scene, memory| {
        let mut first = scene.join(&xy()).await;
        let way = Counting::new(Arc::new(memory.clone()));
        let cut = way.cut.clone();
        let mut second = scene.try_join_with(way, &xy(), scene.settings.clone()).await.unwrap();
        cut.store(true, Ordering::Relaxed);
        first.participant.propose([1]).await.unwrap();
        first.uses("Y").await;
        assert_eq!(second.active.stack.to_string(), "X");
        cut.store(false, Ordering::Relaxed);
        second.uses("Y").await;
        assert!(second.seen.contains(&Event::Expired));
        assert_eq!(second.active.round, first.active.round);
    });
}

/// Writes a record that nobody agreed to.
async fn overwrite(
    store: &impl RendezvousStore,
    name: &bertha_negotiation::rendezvous::Name,
    bytes: Vec<u8>,
) {
    assert!(store.transact(name, &Transaction::new().put(RECORD, bytes)).await.unwrap().applied);
}

#[test]
fn a_faulty_participant_forces_nobody_to_switch() {
    everywhere(async |scene, memory| {
        let mut first = scene.join(&xyz()).await;
        let mut second = scene.join(&xyz()).await;
        let view = View::of(&memory.read(&scene.name).await.unwrap());
        let Recorded::Record(mut forged) = view.record else { unreachable!() };
        forged.round += 1;
        forged.last += 1;
        forged.stack = bertha_negotiation::rendezvous::member::Description::of(
            &bertha_core::Describe::nodes(&*xyz()),
            &[1, 1],
        )
        .unwrap();
        let mut bytes = vec![record::VERSION];
        bytes.extend(postcard::to_allocvec(&forged).unwrap());
        overwrite(memory, &scene.name, bytes).await;
        let fault = |event: &Event| matches!(event, Event::Fault { .. });
        select(pin!(first.until(fault)), pin!(second.until(fault))).await;
        scene.pause(Duration::from_secs(1)).await;
        // The participants correct the record, none of them has switched, and all go on.
        let third = scene.join(&xyz()).await;
        assert_eq!(third.active.stack.to_string(), "X");
        first.participant.propose([1, 0]).await.unwrap();
        join(first.uses("Y"), join(second.uses("Y"), third_uses(third))).await;
        assert!(first.seen.iter().chain(&second.seen).all(|event| !is_z(event)));
    });
}

async fn third_uses<R: bertha_core::Runtime>(mut third: super::scene::Endpoint<R>) {
    third.uses("Y").await;
}

fn is_z(event: &Event) -> bool {
    matches!(event, Event::Commit(stack) | Event::Joined(stack) if stack.stack.to_string() == "Z")
}

#[test]
fn garbage_in_the_record_is_put_right() {
    everywhere(async |scene, memory| {
        let mut first = scene.join(&xy()).await;
        for garbage in [vec![], vec![record::VERSION], vec![9; 40], vec![record::VERSION; 16 * 1024]] {
            overwrite(memory, &scene.name, garbage).await;
            first.until(|event| matches!(event, Event::Fault { .. })).await;
            scene.pause(Duration::from_secs(1)).await;
        }
        let second = scene.join(&xy()).await;
        assert_eq!(second.active.stack, first.active.stack);
    });
}

/// A participant does not hear that it was let in to propose its stack, and does not hear that it was
/// refused.
#[test]
fn who_comes_back_and_is_refused_unheard_knows_that_it_is_out() {
    everywhere(async |scene, memory| {
        let is_slow = Arc::new(AtomicBool::new(false));
        let fate = {
            let is_slow = is_slow.clone();
            move |_| -> BoxFuture<'static, Fate> {
                let is_slow = is_slow.swap(false, Ordering::Relaxed);
                Box::pin(async move { if is_slow { Fate::AnswerLost } else { Fate::CarriedOut } })
            }
        };
        let mut first = scene.join(&xy()).await;
        let way = Counting::new(Arc::new(memory.clone()));
        let cut = way.cut.clone();
        let way = Hindered { store: way, fate: Box::new(fate) };
        let xz: Stack = Box::new(make_stack!(bertha_core::select!(X, Z)));
        let mut second = scene.try_join_with(way, &xz, scene.settings.clone()).await.unwrap();
        cut.store(true, Ordering::Relaxed);
        first.participant.propose([1]).await.unwrap();
        first.uses("Y").await;
        is_slow.store(true, Ordering::Relaxed);
        cut.store(false, Ordering::Relaxed);
        let failed = second.until(|event| matches!(event, Event::Failed { .. }));
        select(pin!(failed), pin!(first.refuses())).await;
        assert!(!is_slow.load(Ordering::Relaxed));
        first.knows_of(1).await;
        let mut third = scene.join(&xy()).await;
        first.participant.propose([0]).await.unwrap();
        join(first.uses("X"), third.uses("X")).await;
    });
}

/// A participant makes a record, hears no answer, and makes the record again. The first record comes late,
/// and another participant sees it.
#[test]
fn a_record_that_is_made_twice_is_one_record() {
    everywhere(async |scene, memory| {
        let (is_slow, held) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None)));
        let fate = {
            let (is_slow, held, runtime) = (is_slow.clone(), held.clone(), scene.runtime.clone());
            let (memory, name) = (memory.clone(), scene.name.clone());
            move |transaction| -> BoxFuture<'static, Fate> {
                if is_slow.swap(false, Ordering::Relaxed) {
                    *held.lock().unwrap() = Some(transaction);
                    return Box::pin(async { Fate::Lost });
                }
                let late: Option<Transaction> = held.lock().unwrap().take();
                let (memory, name, runtime) = (memory.clone(), name.clone(), runtime.clone());
                Box::pin(async move {
                    if let Some(late) = late {
                        assert!(memory.transact(&name, &late).await.unwrap().applied);
                        runtime.sleep(Duration::from_millis(100)).await;
                    }
                    Fate::CarriedOut
                })
            }
        };
        let way = Hindered { store: memory.clone(), fate: Box::new(fate) };
        let mut first = scene.try_join_with(way, &xy(), scene.settings.clone()).await.unwrap();
        is_slow.store(true, Ordering::Relaxed);
        memory.clear();
        let joined = |event: &Event| matches!(event, Event::Joined(_));
        let second = async {
            while held.lock().unwrap().is_none() {
                scene.pause(Duration::from_millis(1)).await;
            }
            while held.lock().unwrap().is_some() {
                scene.pause(Duration::from_millis(1)).await;
            }
            scene.join(&xy()).await
        };
        let (_, mut second) = join(first.until(joined), second).await;
        first.participant.propose([1]).await.unwrap();
        join(first.uses("Y"), second.uses("Y")).await;
        let is_fault = |event: &&Event| matches!(event, Event::Fault { .. });
        assert_eq!(first.seen.iter().chain(&second.seen).find(is_fault), None);
    });
}

/// A participant that was late in answering has not refused the stack that the asking participant needs.
#[test]
fn who_comes_back_and_is_not_answered_in_time_asks_again() {
    everywhere(async |scene, memory| {
        let mut first = scene.join(&xy()).await;
        let way = Counting::new(Arc::new(memory.clone()));
        let cut = way.cut.clone();
        let xz: Stack = Box::new(make_stack!(bertha_core::select!(X, Z)));
        let mut second = scene.try_join_with(way, &xz, scene.settings.clone()).await.unwrap();
        cut.store(true, Ordering::Relaxed);
        first.participant.propose([1]).await.unwrap();
        first.uses("Y").await;
        cut.store(false, Ordering::Relaxed);
        let answering = async {
            first.until_asked().await;
            scene.pause(scene.settings.staging_timeout).await;
            first.uses("X").await;
        };
        join(answering, second.until(|event| matches!(event, Event::Joined(_)))).await;
        assert_eq!(first.active.round, second.active.round);
    });
}
