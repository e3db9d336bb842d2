//! Requests and replies over a simulated network that loses, repeats and delays messages.

use bertha_chunnels::retry::Correlated;
use bertha_chunnels::{Postcard, Retry, Serialize};
use bertha_core::{Connection, Datapath, Error, ErrorKind, Listener, Wrap, make_stack};
use bertha_datapath_sim::{Link, Sim};
use futures_util::future::{join, select};
use serde::{Deserialize, Serialize as Encode};
use std::pin::pin;
use std::time::Duration;

const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];

#[derive(Clone, Debug, PartialEq, Eq, Encode, Deserialize)]
struct Question {
    id: u64,
    answer: Option<u64>,
}

impl Correlated for Question {
    fn id(&self) -> u64 {
        self.id
    }
}

/// Runs a client against a server that answers every question, or no question. Returns the outcomes of the
/// client's `recv`.
fn ask(seed: u64, link: Link, retry: Retry, questions: u64, answers: bool) -> Vec<Result<Question, Error>> {
    let mut sim = Sim::new(seed);
    let network = sim.network().clone();
    network.set_link_between(CLIENT, SERVER, link);
    network.set_link_between(SERVER, CLIENT, link);
    sim.run(async move {
        let listener = network.host(SERVER).listen((SERVER, 7).into()).await.unwrap();
        let datapath = network.host(CLIENT).connect(listener.local_addr()).await.unwrap();
        let codec = || Serialize::<Question, Postcard>::new();
        let client = make_stack!(retry, codec()).wrap(datapath).await.unwrap();
        let serving = async {
            let server = make_stack!(codec()).wrap(listener.accept().await.unwrap()).await.unwrap();
            while let Ok(question) = server.recv().await {
                if answers {
                    let answer = Some(2 * question.id);
                    server.send(Question { answer, ..question }).await.unwrap();
                }
            }
        };
        let sending = async {
            for id in 0..questions {
                client.send(Question { id, answer: None }).await.unwrap();
            }
        };
        let receiving = async {
            let mut outcomes = Vec::new();
            for _ in 0..questions {
                outcomes.push(client.recv().await);
            }
            outcomes
        };
        let asking = pin!(join(sending, receiving));
        match select(asking, pin!(serving)).await {
            futures_util::future::Either::Left((((), outcomes), _)) => outcomes,
            futures_util::future::Either::Right(_) => panic!("the server ended"),
        }
    })
}

#[test]
fn every_question_is_answered_once_over_a_lossy_network() {
    for seed in 0..20 {
        let link = Link { delay: Duration::from_millis(5), loss: 0.2, duplication: 0.1, ..Link::default() };
        let outcomes = ask(seed, link, Retry::new().attempts(100), 200, true);
        let mut ids: Vec<_> = outcomes
            .into_iter()
            .map(|reply| {
                let reply = reply.unwrap();
                assert_eq!(reply.answer, Some(2 * reply.id));
                reply.id
            })
            .collect();
        ids.sort_unstable();
        assert_eq!(ids, (0..200).collect::<Vec<_>>(), "seed {seed}");
    }
}

#[test]
fn a_question_without_an_answer_is_given_up_and_makes_room_for_the_next() {
    let outcomes = ask(1, Link::default(), Retry::new().attempts(2).window(1), 3, false);
    for outcome in outcomes {
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::TimedOut);
    }
}
