use bertha_kvstore::{Body, Message, Store};
use bertha_runtime::tokio::TokioRuntime;
use rand::RngExt;
use tokio::sync::{Mutex, mpsc};

use super::*;
use crate::outstanding::Limits;
use crate::properties::Properties;
use crate::schedule::Arrivals;

/// An end of a pair of bounded channels, with a store at the other end.
struct Channels {
    requests: mpsc::Sender<Message>,
    replies: Mutex<mpsc::Receiver<Message>>,
}

impl Port for Channels {
    type Runtime = TokioRuntime;

    fn runtime(&self) -> &TokioRuntime {
        &TokioRuntime
    }

    fn room(&self) -> usize {
        1500
    }

    async fn send_batch(&self, messages: &mut Vec<Message>) -> Result<(), PortError> {
        for message in messages.drain(..) {
            self.requests.send(message).await.map_err(|_| PortError::Closed)?;
        }
        Ok(())
    }

    async fn recv_batch(&self, into: &mut Vec<Message>, limit: usize) -> Result<usize, PortError> {
        match self.replies.lock().await.recv_many(into, limit).await {
            0 => Err(PortError::Closed),
            count => Ok(count),
        }
    }
}

/// The faults of the way to the store and back.
#[derive(Clone, Copy, Default)]
struct Weather {
    loss: f64,
    doubling: f64,
    /// Number of requests after which the store goes away.
    dies_after: Option<usize>,
}

/// Returns connections to a shared store.
fn connect(count: u64, weather: Weather) -> (Vec<Channels>, Arc<std::sync::Mutex<Store>>) {
    let store = Arc::new(std::sync::Mutex::new(Store::default()));
    let ports = (0..count).map(|seed| {
        // The queues are short, so that each side often waits for the other.
        let (requests, mut incoming) = mpsc::channel::<Message>(3);
        let (outgoing, replies) = mpsc::channel(2);
        let (store, mut rng) = (Arc::clone(&store), StdRng::seed_from_u64(seed));
        tokio::spawn(async move {
            let mut served = 0;
            while let Some(request) = incoming.recv().await {
                served += 1;
                if weather.dies_after.is_some_and(|after| served > after) {
                    return;
                }
                if rng.random_bool(weather.loss) {
                    continue;
                }
                let reply = store.lock().unwrap().handle(request);
                let copies = 1 + usize::from(rng.random_bool(weather.doubling));
                for _ in 0..copies {
                    if outgoing.send(reply.clone()).await.is_err() {
                        return;
                    }
                }
            }
        });
        Channels { requests, replies: Mutex::new(replies) }
    });
    (ports.collect(), store)
}

fn parameters(text: &str) -> Parameters {
    Parameters::new(&format!("recordcount=200\nfieldlength=10\n{text}").parse::<Properties>().unwrap())
        .unwrap()
        .0
}

fn plan(pace: Pace) -> Plan {
    let limits = Limits {
        attempts: 40,
        initial_timeout: Duration::from_millis(20),
        min_timeout: Duration::from_millis(5),
        max_timeout: Duration::from_millis(50),
        ..Limits::default()
    };
    Plan { pace, limits, max_time: None, stop_together: false, seed: 1 }
}

fn issued(phased: &Phased) -> u64 {
    phased.parts.iter().map(|part| part.issued).sum()
}

const EVERYTHING: &str = "operationcount=3000\nreadproportion=0.2\nscanproportion=0.2\nupdateproportion=0.2\n\
                          insertproportion=0.2\nreadmodifywriteproportion=0.2\nrequestdistribution=latest\n\
                          maxscanlength=30";

#[tokio::test]
async fn a_run_after_a_load_finds_every_record() {
    for pace in [Pace::Closed { in_flight: 8 }, Pace::Open { rate: 30_000.0, arrivals: Arrivals::Poisson }] {
        let (ports, store) = connect(3, Weather::default());
        let (mut driver, parameters) = (Driver::new(ports), parameters(EVERYTHING));
        let counter = Counter::default();
        let loaded = driver.load(&parameters, &plan(pace), &counter).await;
        assert_eq!(loaded.measurements().total().completed, 200);
        assert_eq!(store.lock().unwrap().len(), 200);

        let sequence = Arc::new(InsertSequence::new(200));
        let ran = driver.run(&parameters, &sequence, &plan(pace), &counter).await;
        let total = ran.measurements().total();
        assert_eq!((total.completed, total.total(), issued(&ran), counter.get()), (3000, 3000, 3000, 3200));
        assert_eq!(ran.measurements().kinds().count(), 5);
        assert_eq!(store.lock().unwrap().len() as u64, sequence.settled());
        assert!(ran.throughput() > 0.0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accounts_for_every_operation_over_a_lossy_network() {
    let (ports, store) = connect(4, Weather { loss: 0.2, doubling: 0.1, dies_after: None });
    let (mut driver, parameters) = (Driver::new(ports), parameters(EVERYTHING));
    let plan = plan(Pace::Open { rate: 20_000.0, arrivals: Arrivals::Constant });
    let loaded = driver.load(&parameters, &plan, &Counter::default()).await;
    assert_eq!(loaded.measurements().total().completed, 200);
    let sequence = Arc::new(InsertSequence::new(200));
    let ran = driver.run(&parameters, &sequence, &plan, &Counter::default()).await;
    let total = ran.measurements().total();
    assert_eq!((total.completed, total.given_up, issued(&ran)), (3000, 0, 3000));
    assert_eq!(store.lock().unwrap().len() as u64, sequence.settled());
    assert!(total.scanned > 3000, "600 scans of 1 to 30 records each: {}", total.scanned);
    let (retransmissions, ignored) =
        ran.parts.iter().fold((0, 0), |sum, part| (sum.0 + part.retransmissions, sum.1 + part.ignored));
    assert!(retransmissions > 500, "{retransmissions}");
    assert!(ignored > 200, "{ignored}");
}

#[tokio::test]
async fn a_lost_connection_ends_its_operations_and_says_why() {
    let (ports, _) = connect(1, Weather { dies_after: Some(250), ..Weather::default() });
    let (mut driver, parameters) = (Driver::new(ports), parameters("operationcount=1000"));
    let plan = plan(Pace::Closed { in_flight: 4 });
    driver.load(&parameters, &plan, &Counter::default()).await;
    let sequence = Arc::new(InsertSequence::new(200));
    let ran = driver.run(&parameters, &sequence, &plan, &Counter::default()).await;
    let total = ran.measurements().total();
    assert!(matches!(ran.parts[0].error, Some(PortError::Closed)));
    assert_eq!(total.total(), issued(&ran));
    assert!(total.given_up > 0 && total.completed < 1000);
}

#[tokio::test]
async fn all_stop_with_the_first_that_is_done() {
    let (ports, _) = connect(2, Weather::default());
    let (mut driver, parameters) = (Driver::new(ports), parameters("operationcount=2001"));
    let plan =
        Plan { stop_together: true, ..plan(Pace::Open { rate: 20_000.0, arrivals: Arrivals::Poisson }) };
    let sequence = Arc::new(InsertSequence::new(200));
    let ran = driver.run(&parameters, &sequence, &plan, &Counter::default()).await;
    let total = ran.measurements().total();
    assert!(issued(&ran) < 2001, "{}", issued(&ran));
    assert_eq!(total.total(), issued(&ran));
    assert_eq!(total.missing, total.total(), "nothing was loaded");
    assert!(ran.parts.iter().any(|part| part.issued >= 1000));
}

#[tokio::test]
async fn the_time_of_an_endless_run_is_up() {
    let (ports, _) = connect(2, Weather::default());
    let (mut driver, parameters) = (Driver::new(ports), parameters("operationcount=0"));
    let max_time = Some(Duration::from_millis(500));
    let plan = Plan { max_time, ..plan(Pace::Open { rate: 1.0, arrivals: Arrivals::Constant }) };
    let sequence = Arc::new(InsertSequence::new(200));
    let ran = driver.run(&parameters, &sequence, &plan, &Counter::default()).await;
    assert_eq!(issued(&ran), 1, "the second is due after a second");
    assert_eq!(Some(ran.elapsed()), max_time);
}

#[tokio::test]
async fn what_is_due_and_never_sent_is_reported() {
    struct Silent;
    impl Port for Silent {
        type Runtime = TokioRuntime;

        fn runtime(&self) -> &TokioRuntime {
            &TokioRuntime
        }

        fn room(&self) -> usize {
            1500
        }

        async fn send_batch(&self, messages: &mut Vec<Message>) -> Result<(), PortError> {
            assert!(messages.drain(..).all(|message| message.body == Body::Get));
            Ok(())
        }
        async fn recv_batch(&self, _: &mut Vec<Message>, _: usize) -> Result<usize, PortError> {
            std::future::pending().await
        }
    }
    let parameters = parameters("readproportion=1\nupdateproportion=0");
    let limits = Limits { attempts: 1, window: 5, ..plan(Pace::Closed { in_flight: 1 }).limits };
    let pace = Pace::Open { rate: 1_000.0, arrivals: Arrivals::Constant };
    let plan = Plan { limits, max_time: Some(Duration::from_millis(100)), ..plan(pace) };
    let sequence = Arc::new(InsertSequence::new(200));
    let ran = Driver::new(vec![Silent]).run(&parameters, &sequence, &plan, &Counter::default()).await;
    let total = ran.measurements().total();
    assert_eq!((total.given_up, total.answered()), (issued(&ran), 0));
    assert!(issued(&ran) + ran.parts[0].overdue >= 100, "{} and {}", issued(&ran), ran.parts[0].overdue);
    assert!(ran.parts[0].overdue > 0);
}
