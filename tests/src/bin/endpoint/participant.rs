//! A participant of a connection with any number of endpoints.

use super::History;
use bertha_core::{Error, ErrorKind, Identity, NumParticipantsAtMost, make_stack, select};
use bertha_datapath_kernel::TokioRuntime;
use bertha_negotiation::rendezvous::{
    Event, InForce, Name, Participant, RendezvousSettings, RendezvousStore,
};
use std::time::Duration;

#[derive(Identity)]
struct Few;
#[derive(Identity)]
struct Many;

/// Joins, and joins again whenever it has left the connection.
pub(crate) async fn run(store: &str, name: &str, history: &History) -> Result<(), Error> {
    let name = &Name::new(name)?;
    match store.split_once("://") {
        #[cfg(feature = "redis")]
        Some(("redis", _)) => {
            join(|| bertha_negotiation::rendezvous::RedisStore::new(store), name, history).await
        }
        #[cfg(feature = "etcd")]
        Some(("etcd", _)) => {
            join(|| bertha_negotiation::rendezvous::EtcdStore::new(store), name, history).await
        }
        _ => {
            history.say(format_args!("no store for {name}"));
            let what = format!("{store} is no store that this program was built with");
            Err(Error::new(ErrorKind::Invalid, what))
        }
    }
}

#[allow(dead_code, reason = "without a store to join through")]
async fn join<S: RendezvousStore>(
    store: impl Fn() -> Result<S, Error>,
    name: &Name,
    history: &History,
) -> Result<(), Error> {
    let mut settings = RendezvousSettings::default();
    settings.lease = Duration::from_secs(2);
    settings.staging_timeout = Duration::from_secs(5);
    settings.store_timeout = Duration::from_secs(1);
    settings.join_timeout = Duration::from_secs(10);
    loop {
        let stack = make_stack!(select!(Few, Many; prefer 0 if NumParticipantsAtMost(2)));
        match Participant::join(store()?, name.clone(), &stack, TokioRuntime, settings.clone()).await {
            Ok(participant) => follow(participant, history).await,
            Err(error) => history.say(format_args!("outside {error}")),
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn follow(mut participant: Participant<TokioRuntime>, history: &History) {
    say("joined", participant.joined(), history);
    while let Some(event) = participant.next().await {
        match event {
            Event::Stage { round, stack, .. } => {
                history.say(format_args!("stage {round} {stack}"));
                if participant.staged(round).await.is_err() {
                    return;
                }
            }
            Event::Joined(now) => say("joined", &now, history),
            Event::Commit(now) => say("commit", &now, history),
            Event::Participants(all) => history.say(format_args!("participants {}", all.len())),
            other => history.say(format_args!("event {other:?}")),
        }
    }
}

fn say(what: &str, now: &InForce, history: &History) {
    history.say(format_args!("{what} {:016x} {} {}", now.life, now.round, now.stack));
}
